# SPDX-License-Identifier: Apache-2.0
# The start of the server and its end.
vitrine_test(server_lifecycle_test
  SOURCES lifecycle/compute_probe_test.cc lifecycle/crash_stack_test.cc lifecycle/drain_test.cc
          lifecycle/end_process_test.cc lifecycle/health_test.cc lifecycle/memory_shares_test.cc
          lifecycle/resolve_test.cc
  ROOMS server SANITIZE asan)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 at -O3 takes the vectors of a temporary ServerOptions for uninitialised.
  set_source_files_properties(lifecycle/resolve_test.cc PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
endif()
