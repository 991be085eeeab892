# SPDX-License-Identifier: Apache-2.0
# Tests of spans of requests: their sampling, content and export.
vitrine_test(server_trace_test
  SOURCES trace/http_client_test.cc trace/http_url_test.cc trace/otlp_collector_test.cc trace/otlp_exporter_test.cc
          trace/otlp_options_test.cc trace/otlp_spans_test.cc trace/span_ids_test.cc trace/span_queue_test.cc
          trace/tracer_test.cc
  ROOMS server SANITIZE asan tsan)
