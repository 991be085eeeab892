// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/batch_size.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine::cuda {

BatchSize::BatchSize(const LaunchPlan& plan, const BatchLimits& limits) : plan_(&plan), limits_(&limits) {
  size_t maps = 0;
  for (const auto& stem : plan.stems) maps += stem.size();
  places_.resize(maps);
}

void BatchSize::Add(const ImagePlanes& image) {
  ++images_;
  if (plan_->cell > 0) cells_ += int64_t{image.height / plan_->cell} * (image.width / plan_->cell);
  pixels_ += int64_t{image.channels} * image.height * image.width;
  size_t map = 0;
  for (const auto& stem : plan_->stems) {
    program::MapSize size = {image.height, image.width};
    for (const StemLayer& layer : stem) {
      size = program::ResultOf(layer.convolve, size);
      places_[map++] += int64_t{size.height} * size.width;
    }
  }
}

bool BatchSize::AddIfFits(std::span<const ImagePlanes> images) {
  BatchSize sum = *this;
  for (const ImagePlanes& image : images) sum.Add(image);
  if (!sum.Fits()) return false;
  *this = std::move(sum);
  return true;
}

bool BatchSize::Fits() const {
  if (images_ > limits_->images || cells_ > limits_->cells || pixels_ > limits_->pixels) return false;
  size_t map = 0;
  for (const auto& stem : plan_->stems) {
    for (const StemLayer& layer : stem) {
      if (places_[map++] > layer.most_places) return false;
    }
  }
  return true;
}

absl::Status BatchSize::Check() const {
  if (Fits()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("a batch of ", images_, " images, ", cells_, " cells and ", pixels_,
                                                   " pixels exceeds the limits (", limits_->images, " images, ",
                                                   limits_->cells, " cells, ", limits_->pixels,
                                                   " pixels, or the largest map of a stem)"));
}

}  // namespace vitrine::cuda
