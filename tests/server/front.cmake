# SPDX-License-Identifier: Apache-2.0
# Tests of request plans, answers, options and the HTTP endpoint.
vitrine_test(server_front_test
  SOURCES serve/execution/attention_encoding_test.cc http_endpoint_test.cc options_test.cc
          serve/request/plan_request_test.cc serve/request/answer_hold_test.cc serve/execution/response_test.cc
          many_models_metrics_test.cc
  ROOMS server LIBRARIES command_line small_models imaging_images PkgConfig::NGHTTP2 SANITIZE asan)
