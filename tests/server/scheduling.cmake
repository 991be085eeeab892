# SPDX-License-Identifier: Apache-2.0
# Tests of sharing among callers. They also run under ThreadSanitizer.
vitrine_test(server_scheduling_test
  SOURCES serve/scheduling/answer_budget_test.cc serve/scheduling/caller_quotas_test.cc
          serve/scheduling/cost_model_test.cc serve/scheduling/fair_share_test.cc serve/scheduling/late_work_test.cc
          serve/scheduling/overload_test.cc serve/scheduling/parts_test.cc serve/scheduling/peer_accounts_test.cc
          serve/scheduling/recruit_test.cc serve/scheduling/running_batches_test.cc serve/scheduling/slow_requests_test.cc
          serve/scheduling/simulated_server.cc serve/scheduling/waiting_queue_test.cc
  ROOMS server SANITIZE asan tsan)
