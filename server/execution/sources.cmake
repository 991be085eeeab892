# SPDX-License-Identifier: Apache-2.0
# The threads that decode, compute and make the answer.
list(APPEND server_sources
  execution/attention_encoding.cc
  execution/device.cc
  execution/execute_batch.cc
  execution/executor.cc
  execution/helpers.cc
  execution/number_encoding.cc
  execution/response.cc)
