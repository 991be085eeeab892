// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_COST_MODEL_H_
#define VITRINE_SERVER_MODELS_REGISTRY_COST_MODEL_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "server/models/registry/linear_fit.h"

namespace vitrine {

// What a model costs on one executor, learned from what it did cost. Thread-safe; concurrent observations may lose one.
//
// Exponentially weighted means, so that a model that grows slower (a busy machine) is believed after some ten batches.
// Zero until the first observation: an unknown model is admitted and measured. Only overlays have a first guess, since
// what draws them does not depend on the model.
class ModelCost {
 public:
  // One batch of `tokens` took `spent` in the forward pass.
  void ObserveCompute(int64_t tokens, absl::Duration spent);
  // One input of `pixels`, before it is resized, took `spent` to decode and preprocess. Learned per pixel and not per
  // byte: a flat picture of 16 megapixels is a small file.
  void ObserveDecode(int64_t pixels, absl::Duration spent);
  // One answer took `spent` to make (top-k, attention maps), of which `overlay_pixels` were drawn and compressed.
  void ObserveEncode(int64_t overlay_pixels, absl::Duration spent);

  // Executor time of one request, in batches as large as they were of late. Linear in tokens, source pixels and pixels
  // of overlays.
  absl::Duration Predict(int64_t tokens, int64_t pixels, int64_t overlay_pixels = 0) const;
  // The forward pass of one batch: what a batch costs whatever it holds, and what its tokens cost.
  absl::Duration PredictBatch(int64_t tokens) const;
  // What one request takes beside the forward pass: decoding, and making the answer.
  absl::Duration PredictBesideCompute(int64_t pixels, int64_t overlay_pixels = 0) const;

 private:
  LinearFit seconds_of_batch_;  // over tokens
  std::atomic<double> seconds_per_token_ = 0;
  // Means of both, so that what every small picture costs beside its pixels does not count for those of a large one.
  std::atomic<double> decode_seconds_ = 0;
  std::atomic<double> decode_pixels_ = 0;
  std::atomic<double> seconds_per_answer_ = 0;         // of those without overlays
  std::atomic<double> seconds_per_overlay_pixel_ = 0;  // zero: not observed yet
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_COST_MODEL_H_
