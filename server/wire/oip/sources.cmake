# SPDX-License-Identifier: Apache-2.0
# The Open Inference Protocol, over gRPC and HTTP.
list(APPEND server_sources
  wire/oip/base64.cc
  wire/oip/describe.cc
  wire/oip/embeddings_body.cc
  wire/oip/embeddings_front.cc
  wire/oip/http_front.cc
  wire/oip/infer.cc
  wire/oip/infer_answer.cc
  wire/oip/infer_body.cc
  wire/oip/infer_calls.cc
  wire/oip/infer_plan.cc
  wire/oip/parameters.cc
  wire/oip/parse_json.cc
  wire/oip/service_calls.cc
  wire/oip/split_input.cc
  wire/oip/tensor_view.cc)
