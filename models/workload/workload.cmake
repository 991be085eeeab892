# SPDX-License-Identifier: Apache-2.0
# What a forward pass costs; models/CMakeLists.txt includes this after vitrine_models.
target_sources(vitrine_models PRIVATE
  workload/builder.cc
  workload/conventions.cc
  workload/of_program.cc
  workload/review.cc
  workload/sequence.cc
  workload/workload.cc
  zoo/published.cc)
