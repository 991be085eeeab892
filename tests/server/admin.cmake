# SPDX-License-Identifier: Apache-2.0
# Tests of operators' changes, with fake versions and with real models in a repository.
vitrine_test(server_admin_test
  SOURCES admin/admin_models_test.cc admin/admin_rollback_test.cc admin/admin_service_test.cc
          admin/canary_quality_test.cc admin/canary_watch_test.cc
  ROOMS server LIBRARIES small_models SANITIZE asan)
