// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_GPU_CHECK_SUBJECT_H_
#define VITRINE_BENCH_GPU_CHECK_SUBJECT_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/gpu_check/checks.h"
#include "models/attention_tap.h"
#include "models/engine/backend.h"
#include "models/float_array.h"
#include "models/model_description.h"
#include "models/token_tap.h"

namespace vitrine {

inline constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kInt8};

// Returns the allowed difference from the CPU's results in fp32, relative to the largest of these results. Tests of the
// CPU's engine allow the same difference.
double ToleranceOf(Precision precision);

// A model with hashed weights (tests/models/hashed_weights.h).
class Subject {
 public:
  static absl::StatusOr<Subject> Make(const v1::ModelConfig& config, uint64_t seed = 0);

  const ModelDescription& description() const { return description_; }
  std::vector<const float*> weights() const;
  // Returns an image with hashed values for each (height, width) in `sizes`. Skips sizes that the model rejects.
  std::vector<FloatArray> Images(std::span<const std::pair<int, int>> sizes) const;

  absl::StatusOr<std::unique_ptr<const Backend>> OnCpu(Precision precision = Precision::kFp32) const;
  // Returns a backend whose largest batch has all `images` and one more image.
  absl::StatusOr<std::unique_ptr<const Backend>> OnCard(const CheckSetting& setting, Precision precision,
                                                        std::span<const FloatArray> images) const;

 private:
  Subject(ModelDescription description, std::vector<std::vector<float>> weights)
      : description_(std::move(description)), weights_(std::move(weights)) {}

  ModelDescription description_;
  std::vector<std::vector<float>> weights_;
};

// Returns the cells and pixels of the largest of the images.
LargestImage LargestOf(const ModelDescription& description, std::span<const FloatArray> images);
// Returns limits that permit a batch of all `images` and one more image. The limit of tokens is computed as if every
// image were as large as the largest image.
DeviceBatch BatchOf(const ModelDescription& description, std::span<const FloatArray> images);

// Runs a batch with the images at the indices `places`, and returns their logits, row by row. `attention` and `tokens`
// may be null.
absl::StatusOr<std::vector<float>> LogitsOf(const Backend& backend, int64_t classes, std::span<const FloatArray> images,
                                            std::span<const size_t> places, AttentionTap* attention = nullptr,
                                            TokenTap* tokens = nullptr);
// Returns the logits of all images in one batch.
absl::StatusOr<std::vector<float>> LogitsOfAll(const Backend& backend, int64_t classes,
                                               std::span<const FloatArray> images, AttentionTap* attention = nullptr,
                                               TokenTap* tokens = nullptr);

// Returns the largest absolute difference, divided by the largest absolute value in `expected`. Returns infinity if a
// value is not finite or the lengths differ.
double Apart(std::span<const float> values, std::span<const float> expected);
bool SameBits(std::span<const float> a, std::span<const float> b);

}  // namespace vitrine

#endif  // VITRINE_BENCH_GPU_CHECK_SUBJECT_H_
