# SPDX-License-Identifier: Apache-2.0
# Tests of the Open Inference Protocol and of images over HTTP, with real connections.
vitrine_test(oip_e2e_test
  SOURCES http_classify_test.cc oip_test.cc ../faults/raw_http2.cc ../server/identity/authority.cc
          ../../client/commands/token_command.cc ROOMS server LIBRARIES e2e_testing
          nlohmann_json::nlohmann_json SANITIZE asan)

# Tests of the real server with real clients of the Open Inference Protocol, which script/test-environment installs.
vitrine_script_test(oip_clients_test
  COMMAND ${CMAKE_SOURCE_DIR}/script/test-oip-clients ${CMAKE_BINARY_DIR}
  PROGRAMS vitrine-server descriptor_sets)
set(few_requests --concurrency-range 2 --max-trials 3 --measurement-mode count_windows --measurement-request-count 20
    --stability-percentage 999)
vitrine_script_test(perf_analyzer_test
  COMMAND ${CMAKE_SOURCE_DIR}/script/perf-analyzer ${CMAKE_BINARY_DIR} ${few_requests}
  PROGRAMS vitrine-server)
vitrine_script_test(perf_analyzer_http_test
  COMMAND ${CMAKE_COMMAND} -E env PERF_ANALYZER_PROTOCOL=http
          ${CMAKE_SOURCE_DIR}/script/perf-analyzer ${CMAKE_BINARY_DIR} ${few_requests}
  PROGRAMS vitrine-server)
# Tests of the spans of real calls. A fake collector with OpenTelemetry's own messages receives them.
vitrine_script_test(tracing_test
  COMMAND ${CMAKE_SOURCE_DIR}/script/test-oip-clients ${CMAKE_BINARY_DIR} tracing_test
  PROGRAMS vitrine-server vitrine)

# Tests of the examples for Node and the browser.
vitrine_script_test(javascript_test
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/python/javascript_test.py ${CMAKE_BINARY_DIR}
  PROGRAMS vitrine-server)
