# SPDX-License-Identifier: Apache-2.0
# The models in memory, kept in step with the repository.
list(APPEND server_sources
  registry/answer_record.cc
  registry/canary_guard.cc
  registry/compute_times.cc
  registry/cost_model.cc
  registry/device.cc
  registry/golden_input.cc
  registry/memory_budget.cc
  registry/model_limits.cc
  registry/model_loader.cc
  registry/paired_answers.cc
  registry/reclaimer.cc
  registry/registry.cc
  registry/registry_load.cc
  registry/registry_look.cc
  registry/repository_watch.cc
  registry/serving_rules.cc
  registry/serving_settings.cc
  registry/traffic.cc
  registry/version_costs.cc
  registry/version_difference.cc
  registry/version_policy.cc
  registry/version_status.cc
  registry/version_table.cc)
