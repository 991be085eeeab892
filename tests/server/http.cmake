# SPDX-License-Identifier: Apache-2.0
# Tests of images over HTTP, without a server: parsing of queries, the JSON of answers, and the responses of the paths.
vitrine_test(server_http_test
  SOURCES wire/http/classify_front_test.cc wire/http/classify_query_test.cc
          wire/http/cors_test.cc wire/http/http_port_test.cc wire/http/page_files_test.cc
  ROOMS server LIBRARIES small_models nlohmann_json::nlohmann_json SANITIZE asan)
