# SPDX-License-Identifier: Apache-2.0
# Runs of one recipe with many settings.
set(sweep_sources sweep/data_digest.cc sweep/effects.cc sweep/experiment.cc sweep/grid.cc sweep/jobs.cc sweep/results.cc sweep/summary.cc
  sweep/sweep.cc sweep/table.cc sweep/words.cc)
set(sweep_libraries base_shard nlohmann_json::nlohmann_json)
