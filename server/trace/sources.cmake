# SPDX-License-Identifier: Apache-2.0
# Spans of requests and their export to an OpenTelemetry collector.
list(APPEND server_sources
  trace/client_connection.cc
  trace/http_client.cc
  trace/http_url.cc
  trace/otlp_collector.cc
  trace/otlp_exporter.cc
  trace/otlp_options.cc
  trace/otlp_spans.cc
  trace/span_ids.cc
  trace/span_queue.cc
  trace/tracer.cc
  trace/tracing.cc)
