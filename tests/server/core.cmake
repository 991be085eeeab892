# SPDX-License-Identifier: Apache-2.0
# Policies and threads, without gRPC and without computing: these also run under ThreadSanitizer.
vitrine_test(server_core_test
  SOURCES admission_test.cc batching_policy_test.cc metrics_test.cc scheduler_test.cc ticker_test.cc
  ROOMS server SANITIZE asan tsan)
# Real models, pictures and repositories.
vitrine_test(server_compute_test
  SOURCES device_test.cc execute_batch_counts_test.cc execute_batch_test.cc executor_test.cc model_loader_test.cc
          picture_input_test.cc small_models.cc
  ROOMS server checkpoint SANITIZE asan)
