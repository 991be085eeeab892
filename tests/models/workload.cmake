# SPDX-License-Identifier: Apache-2.0
vitrine_test(workload_test
  SOURCES workload_execution_test.cc workload_test.cc mac_counter.cc pictures.cc
  ROOMS models)
