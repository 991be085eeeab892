# SPDX-License-Identifier: Apache-2.0
# Operators' settings: policies, limits, traffic shares.
list(APPEND server_sources
  registry/settings/model_limits.cc
  registry/settings/refused_licences.cc
  registry/settings/serving_rules.cc
  registry/settings/serving_settings.cc
  registry/settings/traffic.cc
  registry/settings/version_policy.cc)
