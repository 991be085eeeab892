# SPDX-License-Identifier: Apache-2.0
# What operators see.
list(APPEND server_sources
  observability/families.cc
  observability/histogram.cc
  observability/http_endpoint.cc
  observability/kept_text.cc
  observability/library_log.cc
  observability/log.cc
  observability/metrics.cc
  observability/model_metrics.cc
  observability/model_totals.cc
  observability/process_stats.cc
  observability/request_families.cc
  observability/request_log.cc
  observability/rate_window.cc
  observability/readings.cc
  observability/server_families.cc
  observability/shed_reason.cc
  observability/status.cc
  observability/status_html.cc
  observability/status_json.cc
  observability/status_reader.cc
  observability/stderr_sink.cc
  observability/trace_context.cc)
