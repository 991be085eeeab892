# SPDX-License-Identifier: Apache-2.0
# `vitrine bench`: puts load on a server and measures latency.
set(load_sources
  load/answer_check.cc load/workload/arrivals.cc load/bench_command.cc load/bench_settings.cc load/connections.cc
  load/lane.cc load/latency_histogram.cc load/load.cc load/load_gates.cc load/report/load_json.cc
  load/report/load_output.cc load/report/load_page.cc load/load_record.cc load/load_stream.cc
  load/report/load_text.cc load/workload/pacer.cc
  load/processor_time.cc load/rate_samples.cc load/rate_search.cc load/workload/request_class.cc load/stability.cc
  load/workload/trace_file.cc load/workload/workload.cc)
