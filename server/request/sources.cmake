# SPDX-License-Identifier: Apache-2.0
# What is asked: the message checked, planned, handed over.
list(APPEND server_sources
  request/classify_service.cc
  request/inference_request.cc
  request/out_of_memory.cc
  request/picture_input.cc
  request/plan_attention.cc
  request/plan_request.cc)
