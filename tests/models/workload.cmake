vitrine_test(workload_test
  SOURCES workload_execution_test.cc workload_test.cc mac_counter.cc pictures.cc
  ROOMS models)
target_compile_definitions(workload_test PRIVATE AT_PER_OPERATOR_HEADERS)
