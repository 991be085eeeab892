# SPDX-License-Identifier: Apache-2.0
vitrine_test(workload_test
  SOURCES workload_execution_test.cc workload_published_test.cc workload_test.cc mac_counter.cc pictures.cc small_forms.cc
  ROOMS models)
