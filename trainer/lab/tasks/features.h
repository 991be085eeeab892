// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_FEATURES_H_
#define VITRINE_TRAINER_LAB_TASKS_FEATURES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

// Vectors with classes, for instance image features of a backbone.
struct FeatureSet {
  at::Tensor features;      // [N, d] fp32
  std::vector<int> labels;  // N class indices, from 0
};

struct FeatureSplits {
  FeatureSet train, test;
};

// Reads a safetensors file with the tensors "features" [N, d], F32, F16 or BF16, and "labels" [N], I64.
// INVALID_ARGUMENT names the file and the error: a missing tensor, an unexpected type or shape, a label below 0 or
// above 999,999, or a value that is not finite.
absl::StatusOr<FeatureSet> ReadFeatures(const std::filesystem::path& file);
// Writes a file for ReadFeatures. Returns the errors of WriteFile.
absl::Status WriteFeatures(const FeatureSet& set, const std::filesystem::path& file);

// Reads a folder with train.safetensors and test.safetensors, or a single file. If it is a single file, a fixed tenth
// of each class becomes the test split. Returns the errors of ReadFeatures, and INVALID_ARGUMENT if the vectors of the
// splits differ in width.
absl::StatusOr<FeatureSplits> ReadFeatureSplits(const std::filesystem::path& place);

// Generates 20 classes with 100 training and 20 test vectors each. A class is a Gaussian cloud around its own centre.
// If the width is small, neighbouring clouds overlap.
FeatureSplits GeneratedClusters(int64_t width);

// Divides a set into two sets. Returns {first, second}, both in the order of `set`. The vectors of `second` are the
// fraction `share` of each class, drawn with `seed`.
std::pair<FeatureSet, FeatureSet> SplitByClass(const FeatureSet& set, double share, uint64_t seed);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_FEATURES_H_
