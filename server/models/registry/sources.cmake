# SPDX-License-Identifier: Apache-2.0
# The models in memory, kept in step with the repository.
list(APPEND server_sources
  models/registry/answer_record.cc
  models/registry/canary_guard.cc
  models/registry/compute_times.cc
  models/registry/cost_model.cc
  models/registry/device.cc
  models/registry/golden_input.cc
  models/registry/memory_budget.cc
  models/registry/model_limits.cc
  models/registry/model_loader.cc
  models/registry/paired_answers.cc
  models/registry/reclaimer.cc
  models/registry/registry.cc
  models/registry/registry_load.cc
  models/registry/registry_look.cc
  models/registry/repository_watch.cc
  models/registry/serving_rules.cc
  models/registry/serving_settings.cc
  models/registry/traffic.cc
  models/registry/version_costs.cc
  models/registry/version_difference.cc
  models/registry/version_policy.cc
  models/registry/version_status.cc
  models/registry/version_table.cc)
