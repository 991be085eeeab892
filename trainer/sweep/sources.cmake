# SPDX-License-Identifier: Apache-2.0
# Many runs of one recipe.
set(sweep_sources sweep/grid.cc sweep/jobs.cc sweep/results.cc sweep/sweep.cc sweep/table.cc)
set(sweep_libraries nlohmann_json::nlohmann_json)
