# SPDX-License-Identifier: Apache-2.0
# Tests of the start and the end of the server.
vitrine_test(server_lifecycle_test
  SOURCES lifecycle/child_process_test.cc lifecycle/compute_probe_test.cc lifecycle/crash_stack_test.cc lifecycle/drain_test.cc
          lifecycle/end_process_test.cc lifecycle/health_test.cc lifecycle/resolve_test.cc
          lifecycle/service_manager_test.cc
  ROOMS server SANITIZE asan)
