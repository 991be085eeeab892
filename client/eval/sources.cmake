# SPDX-License-Identifier: Apache-2.0
# `vitrine eval`: evaluates a data set on a server, each image once, and writes reports.
set(eval_sources
  eval/busy_time.cc eval/calibrate.cc eval/data.cc eval/eval_gates.cc eval/evaluation.cc eval/evaluation_files.cc eval/fate.cc eval/journal.cc
  eval/journal_lines.cc eval/likelihood.cc eval/merge.cc eval/metrics.cc eval/patience.cc eval/prepare.cc
  eval/read_ahead.cc eval/run.cc eval/run_answers.cc eval/run_progress.cc eval/run_server.cc eval/shard.cc eval/summary.cc eval/temperature.cc)
list(APPEND eval_sources
  eval/compare.cc eval/compare_page.cc eval/compare_print.cc eval/distance.cc eval/holm.cc eval/look.cc eval/mcnemar.cc eval/page.cc
  eval/page_answers.cc eval/page_facts.cc eval/study.cc eval/study_differences.cc eval/study_page.cc)
