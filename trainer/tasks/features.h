// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_FEATURES_H_
#define VITRINE_TRAINER_TASKS_FEATURES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// Vectors with their classes, for instance what a backbone makes of pictures.
struct FeatureSet {
  at::Tensor features;      // [N, d] fp32
  std::vector<int> labels;  // N classes, from 0
};

struct FeatureSplits {
  FeatureSet train, test;
};

// A safetensors file with the tensors "features" [N, d], F32, F16 or BF16, and "labels" [N], I64. INVALID_ARGUMENT
// names the file and the fault: another tensor, type or shape, a label below 0 or above 999,999, a value that is not
// finite.
absl::StatusOr<FeatureSet> ReadFeatures(const std::filesystem::path& file);
// What ReadFeatures reads.
absl::Status WriteFeatures(const FeatureSet& set, const std::filesystem::path& file);

// A folder with train.safetensors and test.safetensors, or a single file, of which a tenth of each class, the same
// always, is the test split. INVALID_ARGUMENT too if the two differ in width.
absl::StatusOr<FeatureSplits> ReadFeatureSplits(const std::filesystem::path& place);

// Without files: 20 classes, each a Gaussian cloud around a centre of its own; 100 vectors each to train, 20 to test.
// Neighbouring clouds overlap where the width is small.
FeatureSplits GeneratedClusters(int64_t width);

// Takes a share of each class, drawn from the seed: {the rest, the share}. Within both the order stays.
std::pair<FeatureSet, FeatureSet> SplitByClass(const FeatureSet& set, double share, uint64_t seed);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_FEATURES_H_
