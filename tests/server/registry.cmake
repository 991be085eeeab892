# SPDX-License-Identifier: Apache-2.0
# Tests of versions in memory and the routing of requests, without inference. They also run under ThreadSanitizer.
vitrine_test(server_registry_test
  SOURCES registry/canary_guard_test.cc registry/compute_times_test.cc registry/memory_budget_test.cc
          registry/registry_end_test.cc registry/registry_test.cc registry/registry_load_test.cc
          registry/refused_licences_test.cc registry/registry_precision_test.cc registry/registry_settings_test.cc
          registry/registry_stable_test.cc registry/remote_repository_test.cc registry/repository_watch_test.cc
          registry/serving_rules_test.cc registry/side_by_side_test.cc registry/serving_settings_test.cc
          registry/traffic_test.cc registry/version_costs_test.cc registry/version_policy_test.cc
          registry/version_status_test.cc registry/version_table_test.cc
  ROOMS server SANITIZE asan tsan)
