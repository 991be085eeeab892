# SPDX-License-Identifier: Apache-2.0
# What a forward pass costs; models/CMakeLists.txt includes this after vitrine_models.
target_sources(vitrine_models PRIVATE
  workload/builder.cc
  workload/conventions.cc
  workload/eit.cc
  workload/kv.cc
  workload/layers.cc
  workload/review.cc
  workload/sequence.cc
  workload/vit.cc
  workload/workload.cc
  workload/xcit.cc
  workload/xvit.cc
  zoo/published.cc)
