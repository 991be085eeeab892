# SPDX-License-Identifier: Apache-2.0
# Tests of metrics, log lines, traces and the status page.
vitrine_test(server_observability_test
  SOURCES observe/connection_observer_test.cc observe/kept_text_test.cc observe/log_test.cc
          observe/request_log_test.cc observe/scrape_test.cc observe/status_page_test.cc
          observe/status_reader_test.cc observe/status_test.cc observe/sureness_test.cc observe/trace_context_test.cc
          ../stored_text.cc
  ROOMS server LIBRARIES nlohmann_json::nlohmann_json SANITIZE asan tsan)
