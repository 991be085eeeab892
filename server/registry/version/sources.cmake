# SPDX-License-Identifier: Apache-2.0
# A version in memory: its state, its time and memory.
list(APPEND server_sources
  registry/version/answer_record.cc
  registry/version/compute_times.cc
  registry/version/cost_model.cc
  registry/version/memory_budget.cc
  registry/version/paired_answers.cc
  registry/version/version_costs.cc
  registry/version/version_status.cc)
