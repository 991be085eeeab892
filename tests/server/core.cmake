# SPDX-License-Identifier: Apache-2.0
# Tests of policies and threads, without gRPC and without inference. They also run under ThreadSanitizer.
vitrine_test(server_core_test
  SOURCES serve/scheduling/admission_test.cc serve/scheduling/batching_policy_test.cc observe/metrics_test.cc
          serve/scheduling/scheduler_test.cc lifecycle/ticker_test.cc
  ROOMS server SANITIZE asan tsan)
# Tests with real models, images and repositories.
vitrine_test(server_compute_test
  SOURCES serve/execution/device_test.cc serve/execution/execute_batch_counts_test.cc
          serve/execution/execute_batch_test.cc serve/execution/executor_test.cc registry/model_loader_test.cc
          serve/execution/image_input_test.cc
  ROOMS server LIBRARIES small_models SANITIZE asan)
