# SPDX-License-Identifier: Apache-2.0
# `vitrine eval`: evaluates a data set on a server, each image once, and writes reports.
set(eval_sources
  eval/busy_time.cc eval/calibrate.cc eval/data.cc eval/eval_gates.cc eval/evaluation.cc eval/evaluation_files.cc
  eval/fate.cc eval/journal.cc eval/journal_lines.cc eval/likelihood.cc eval/run/merge.cc eval/metrics.cc
  eval/run/patience.cc eval/run/prepare.cc eval/run/read_ahead.cc eval/run/ready_model.cc eval/run/rounds.cc
  eval/run/rounds_answers.cc eval/run/rounds_server.cc eval/run/run.cc eval/run/run_progress.cc
  eval/summary.cc)
list(APPEND eval_sources
  eval/compare/compare.cc eval/compare/compare_page.cc eval/compare/compare_print.cc eval/distance.cc
  eval/page/look.cc eval/page/page.cc eval/page/page_answers.cc eval/page/page_facts.cc eval/compare/study.cc
  eval/compare/study_differences.cc eval/compare/study_page.cc)
