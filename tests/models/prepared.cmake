# SPDX-License-Identifier: Apache-2.0
# The prepared forms and their kernels; CMakeLists.txt includes this.
vitrine_test(gemm_test SOURCES gemm_test.cc ROOMS models SANITIZE asan)
vitrine_test(training_kernels_test SOURCES training_kernels_test.cc ROOMS models SANITIZE asan)
vitrine_test(feed_forward_prepared_test SOURCES feed_forward_prepared_test.cc ROOMS models SANITIZE asan)
