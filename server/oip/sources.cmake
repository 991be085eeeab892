# SPDX-License-Identifier: Apache-2.0
# The Open Inference Protocol, over gRPC and HTTP.
list(APPEND server_sources
  oip/batch_limits.cc
  oip/describe.cc
  oip/http_body.cc
  oip/http_front.cc
  oip/infer.cc
  oip/infer_answer.cc
  oip/infer_call.cc
  oip/infer_plan.cc
  oip/json_document.cc
  oip/message_json.cc
  oip/parameters.cc
  oip/service_calls.cc
  oip/split_input.cc
  oip/stream_infer_call.cc)
