// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_COST_MODEL_H_
#define VITRINE_SERVER_REGISTRY_VERSION_COST_MODEL_H_

#include <cstdint>

#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine {

// Fits y = a + b x by weighted least squares, with a and b at least zero: each point has nine tenths of the weight of
// the next one. If the x values are too close together to separate a from b, y = b x.
class LinearFit {
 public:
  void Observe(double x, double y);
  double At(double x) const;  // zero before the first observation

 private:
  // Weighted means.
  double x_ = 0;
  double y_ = 0;
  double xx_ = 0;
  double xy_ = 0;
  bool is_empty_ = true;
};

// Predicts a model's cost on one executor from observed costs. Thread-safe.
//
// Uses exponentially weighted means, so that a model that becomes slower (a busy machine) is recognised after about ten
// batches. Zero until the first observation: an unknown model is admitted and measured. Only overlays have an initial
// estimate, since their cost does not depend on the model.
class ModelCost {
 public:
  // Records that one batch of `tokens` took `spent` in the forward pass.
  void ObserveCompute(int64_t tokens, absl::Duration spent);
  // Records that one input of `pixels`, before it is resized, took `spent` to decode and preprocess. The cost is per
  // pixel rather than per byte: a uniform image of 16 megapixels is a small file.
  void ObserveDecode(int64_t pixels, absl::Duration spent);
  // Records that one answer took `spent` to make (top-k, attention maps), with `overlay_pixels` drawn and compressed.
  void ObserveEncode(int64_t overlay_pixels, absl::Duration spent);

  // Predicts the executor time of one request, in batches of the recent size. Linear in tokens, source pixels and
  // overlay pixels.
  absl::Duration Predict(int64_t tokens, int64_t pixels, int64_t overlay_pixels = 0) const;
  // Predicts the forward pass of one batch: a fixed cost plus the cost of its tokens.
  absl::Duration PredictBatch(int64_t tokens) const;
  // Returns PredictBatch plus the root mean square excess of recent batches over their prediction, at most twice
  // PredictBatch.
  absl::Duration PredictBatchAtMost(int64_t tokens) const;
  // Predicts the time of one request outside the forward pass: decoding and making the answer.
  absl::Duration PredictBesideCompute(int64_t pixels, int64_t overlay_pixels = 0) const;

 private:
  mutable Mutex mutex_;
  LinearFit seconds_of_batch_ ABSL_GUARDED_BY(mutex_);  // over tokens
  double seconds_per_token_ ABSL_GUARDED_BY(mutex_) = 0;
  // mean square of the relative excess of batches over their prediction
  double excess_squared_ ABSL_GUARDED_BY(mutex_) = 0;
  // Separate means, so that the fixed cost of small images is not charged per pixel of a large one.
  double decode_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  double decode_pixels_ ABSL_GUARDED_BY(mutex_) = 0;
  double seconds_per_answer_ ABSL_GUARDED_BY(mutex_) = 0;         // answers without overlays
  double seconds_per_overlay_pixel_ ABSL_GUARDED_BY(mutex_) = 0;  // zero: not observed yet
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_COST_MODEL_H_
