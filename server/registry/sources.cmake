# SPDX-License-Identifier: Apache-2.0
# The models in memory, kept in step with the repository.
list(APPEND server_sources
  registry/canary_guard.cc
  registry/compute_times.cc
  registry/memory_budget.cc
  registry/model_limits.cc
  registry/model_loader.cc
  registry/reclaimer.cc
  registry/registry.cc
  registry/registry_load.cc
  registry/repository_watch.cc
  registry/serving_rules.cc
  registry/serving_settings.cc
  registry/text_file.cc
  registry/traffic.cc
  registry/version_policy.cc
  registry/version_status.cc
  registry/version_table.cc)
