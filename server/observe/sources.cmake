# SPDX-License-Identifier: Apache-2.0
# Metrics and logs.
list(APPEND server_sources
  observe/connection_observer.cc
  observe/families.cc
  observe/histogram.cc
  observe/library_log.cc
  observe/log.cc
  observe/metrics.cc
  observe/model_metrics.cc
  observe/process_stats.cc
  observe/request_families.cc
  observe/request_log.cc
  observe/server_families.cc
  observe/stderr_sink.cc
  observe/trace_context.cc)
