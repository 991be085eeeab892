// SPDX-License-Identifier: Apache-2.0
#include "server/models/registry/cost_model.h"

#include <algorithm>

namespace vitrine {
namespace {

// Weight of a new observation.
constexpr double kCostWeight = 0.2;
// Seconds for a pixel of an overlay before the first was drawn: one of 1024 x 1024 takes about 0.2 s.
constexpr double kOverlayGuess = 2e-7;

// Not atomic as a whole: of two executors that observe at the same moment one may be lost, which a mean can bear.
void Blend(std::atomic<double>& mean, double observed) {
  const double old = mean.load(std::memory_order_relaxed);
  mean.store(old == 0 ? observed : old + kCostWeight * (observed - old), std::memory_order_relaxed);
}

}  // namespace

void ModelCost::ObserveCompute(int64_t tokens, absl::Duration spent) {
  const double seconds = absl::ToDoubleSeconds(spent), count = static_cast<double>(std::max<int64_t>(tokens, 1));
  Blend(seconds_per_token_, seconds / count);
  seconds_of_batch_.Observe(count, seconds);
}

void ModelCost::ObserveDecode(int64_t pixels, absl::Duration spent) {
  Blend(decode_seconds_, absl::ToDoubleSeconds(spent));
  Blend(decode_pixels_, static_cast<double>(std::max<int64_t>(pixels, 1)));
}

void ModelCost::ObserveEncode(int64_t overlay_pixels, absl::Duration spent) {
  if (overlay_pixels == 0) return Blend(seconds_per_answer_, absl::ToDoubleSeconds(spent));
  // What the rest of such an answer takes is some thousandth of it.
  Blend(seconds_per_overlay_pixel_, absl::ToDoubleSeconds(spent) / static_cast<double>(overlay_pixels));
}

absl::Duration ModelCost::Predict(int64_t tokens, int64_t pixels, int64_t overlay_pixels) const {
  return absl::Seconds(seconds_per_token_.load(std::memory_order_relaxed) * static_cast<double>(tokens)) +
         PredictBesideCompute(pixels, overlay_pixels);
}

absl::Duration ModelCost::PredictBatch(int64_t tokens) const {
  return absl::Seconds(seconds_of_batch_.At(static_cast<double>(tokens)));
}

absl::Duration ModelCost::PredictBesideCompute(int64_t pixels, int64_t overlay_pixels) const {
  const double known_pixels = decode_pixels_.load(std::memory_order_relaxed);
  const double seconds_per_pixel =
      known_pixels == 0 ? 0 : decode_seconds_.load(std::memory_order_relaxed) / known_pixels;
  const double known_overlay = seconds_per_overlay_pixel_.load(std::memory_order_relaxed);
  const double seconds_per_overlay_pixel = known_overlay == 0 ? kOverlayGuess : known_overlay;
  return absl::Seconds(seconds_per_pixel * static_cast<double>(pixels) +
                       seconds_per_answer_.load(std::memory_order_relaxed) +
                       seconds_per_overlay_pixel * static_cast<double>(overlay_pixels));
}

}  // namespace vitrine
