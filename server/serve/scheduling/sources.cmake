# SPDX-License-Identifier: Apache-2.0
# Admission control, the request queue and the choice of batches.
list(APPEND server_sources
  serve/scheduling/admission.cc
  serve/scheduling/answer_budget.cc
  serve/scheduling/answer_time.cc
  serve/scheduling/batching_policy.cc
  serve/scheduling/caller_quotas.cc
  serve/scheduling/caller_turns.cc
  serve/scheduling/fair_share.cc
  serve/scheduling/inference_request.cc
  serve/scheduling/peer_accounts.cc
  serve/scheduling/place_ledger.cc
  serve/scheduling/running_batches.cc
  serve/scheduling/scheduler.cc
  serve/scheduling/waiting_queue.cc)
