# SPDX-License-Identifier: Apache-2.0
# Tests of the outer half.
vitrine_test(server_front_test
  SOURCES attention_encoding_test.cc http_endpoint_test.cc options_test.cc plan_request_test.cc
          request/answer_hold_test.cc response_test.cc small_models.cc
  ROOMS server checkpoint LIBRARIES imaging_pictures SANITIZE asan)
