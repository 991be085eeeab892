# SPDX-License-Identifier: Apache-2.0
# Spans of requests: which, what is in them, and that nobody waits for a collector.
vitrine_test(server_trace_test
  SOURCES trace/http_client_test.cc trace/http_url_test.cc trace/otlp_collector_test.cc trace/otlp_exporter_test.cc
          trace/otlp_options_test.cc trace/otlp_spans_test.cc trace/span_ids_test.cc trace/span_queue_test.cc
          trace/tracer_test.cc
  ROOMS server SANITIZE asan tsan)
