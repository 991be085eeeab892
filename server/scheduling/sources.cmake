# SPDX-License-Identifier: Apache-2.0
# What may wait, and what runs next.
list(APPEND server_sources
  scheduling/admission.cc
  scheduling/admission_options.cc
  scheduling/answer_budget.cc
  scheduling/batching_policy.cc
  scheduling/caller_quotas.cc
  scheduling/caller_turns.cc
  scheduling/cost_model.cc
  scheduling/fair_share.cc
  scheduling/linear_fit.cc
  scheduling/peer_accounts.cc
  scheduling/scheduler.cc
  scheduling/shared_room.cc
  scheduling/shed.cc)
