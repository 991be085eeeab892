# SPDX-License-Identifier: Apache-2.0
# Observability: metrics, log lines, traces, the status page.
vitrine_test(server_observability_test
  SOURCES observability/connection_observer_test.cc observability/documented_metrics_test.cc observability/kept_text_test.cc observability/log_test.cc
          observability/request_log_test.cc observability/scrape_test.cc observability/status_page_test.cc
          observability/status_reader_test.cc observability/status_test.cc observability/sureness_test.cc
          observability/trace_context_test.cc ../stored_text.cc
  ROOMS server LIBRARIES nlohmann_json::nlohmann_json SANITIZE asan tsan)
