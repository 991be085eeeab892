// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_BATCH_SIZE_H_
#define VITRINE_MODELS_ENGINE_CUDA_BATCH_SIZE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "models/engine/cuda/launches/batch_rows.h"
#include "models/engine/cuda/launches/plan.h"

namespace vitrine::cuda {

// Sums the sizes of a batch's images, and checks that the images fit the limits and the stem maps of the plan. The plan
// and the limits must outlive this object.
class BatchSize {
 public:
  BatchSize(const LaunchPlan& plan, const BatchLimits& limits);

  // Adds an image, whether or not it fits.
  void Add(const ImagePlanes& image);
  // Adds all images and returns true if they fit together; otherwise adds none.
  bool AddIfFits(std::span<const ImagePlanes> images);

  int images() const { return images_; }
  int64_t pixels() const { return pixels_; }
  bool Fits() const;
  // Returns true if no further image of any size fits.
  bool IsFull() const { return images_ >= limits_->images || cells_ >= limits_->cells || pixels_ >= limits_->pixels; }
  // Returns RESOURCE_EXHAUSTED with the sizes if the images do not fit.
  absl::Status Check() const;

 private:
  const LaunchPlan* plan_;
  const BatchLimits* limits_;
  int images_ = 0;
  int64_t cells_ = 0;
  int64_t pixels_ = 0;           // channels * height * width
  std::vector<int64_t> places_;  // number of positions in each map of the plan's stems
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_BATCH_SIZE_H_
