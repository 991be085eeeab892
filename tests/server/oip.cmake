# SPDX-License-Identifier: Apache-2.0
# Tests of the Open Inference Protocol's messages, bodies and batches, without a server.
vitrine_test(server_oip_test
  SOURCES wire/oip/base64_test.cc wire/oip/embeddings_body_test.cc wire/oip/infer_body_test.cc
          wire/oip/http_front_test.cc wire/oip/http_server_test.cc wire/oip/infer_outputs_test.cc
          wire/oip/infer_plan_test.cc wire/oip/infer_test.cc wire/oip/json_document_test.cc wire/oip/tensor_view_test.cc
  ROOMS server LIBRARIES small_models nlohmann_json::nlohmann_json ZLIB::ZLIB SANITIZE asan)
