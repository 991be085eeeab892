# SPDX-License-Identifier: Apache-2.0
# The threads that decode images, compute and make answers.
list(APPEND server_sources
  serve/execution/attention_encoding.cc
  serve/execution/batch_answers.cc
  serve/execution/batch_run.cc
  serve/execution/execute_batch.cc
  serve/execution/executor.cc
  serve/execution/helpers.cc
  serve/execution/image_input.cc
  serve/execution/response.cc)
