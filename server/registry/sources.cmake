# SPDX-License-Identifier: Apache-2.0
# The models in memory, which follow the repository.
list(APPEND server_sources
  registry/absent_versions.cc
  registry/canary_guard.cc
  registry/device.cc
  registry/golden_input.cc
  registry/model_loader.cc
  registry/reclaimer.cc
  registry/registry.cc
  registry/registry_load.cc
  registry/registry_look.cc
  registry/remote_repository.cc
  registry/repository_watch.cc
  registry/version_difference.cc
  registry/version_table.cc
  registry/version_table_texts.cc)
