# SPDX-License-Identifier: Apache-2.0
# How callers share the server. Policies and threads alone: also under ThreadSanitizer.
vitrine_test(server_scheduling_test
  SOURCES scheduling/answer_budget_test.cc scheduling/caller_quotas_test.cc scheduling/cost_model_test.cc scheduling/fair_share_test.cc
          scheduling/late_work_test.cc scheduling/overload_test.cc scheduling/parts_test.cc
          scheduling/peer_accounts_test.cc scheduling/recruit_test.cc scheduling/running_batches_test.cc scheduling/seat_test.cc scheduling/simulated_server.cc
          scheduling/waiting_queue_test.cc
  ROOMS server SANITIZE asan tsan)
