// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_COST_MODEL_H_
#define VITRINE_SERVER_REGISTRY_VERSION_COST_MODEL_H_

#include <cstdint>

#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine {

// Fits y = a + b x by weighted least squares, with a and b at least zero. Each new point multiplies the weights of all
// earlier points by 0.9. If the x values are too close together to separate a from b, fits y = b x.
class LinearFit {
 public:
  void Observe(double x, double y);
  double At(double x) const;  // returns zero before the first observation

 private:
  // Weighted means of x, y, x * x and x * y.
  double x_ = 0;
  double y_ = 0;
  double xx_ = 0;
  double xy_ = 0;
  bool is_empty_ = true;
};

// Predicts a model's cost on one executor from observed costs. Thread-safe. Uses exponentially weighted means: if a
// model becomes slower, for example on a busy machine, predictions follow after about ten batches. Before the first
// observation, predictions are zero: an unknown model is admitted and measured. Only overlays have an initial estimate,
// since their cost does not depend on the model.
class ModelCost {
 public:
  // Records that the forward pass of one batch of `tokens` took `spent`.
  void ObserveCompute(int64_t tokens, absl::Duration spent);
  // Records that decoding and preprocessing one input of `pixels` (before it is resized) took `spent`. The cost is per
  // pixel, not per byte: a uniform image of 16 megapixels is a small file.
  void ObserveDecode(int64_t pixels, absl::Duration spent);
  // Records that making one answer (top-k, attention maps) took `spent`, with `overlay_pixels` drawn and compressed.
  void ObserveEncode(int64_t overlay_pixels, absl::Duration spent);

  // Predicts the executor time of one request, if its batch is as large as recent batches. The prediction is linear in
  // tokens, source pixels and overlay pixels.
  absl::Duration Predict(int64_t tokens, int64_t pixels, int64_t overlay_pixels = 0) const;
  // Predicts the forward pass of one batch: a fixed cost plus the cost of its tokens.
  absl::Duration PredictBatch(int64_t tokens) const;
  // Returns a margin for PredictBatch: few batches take longer than the prediction plus the margin. It is 1.5 times the
  // root mean square of the excess of recent batches over their prediction, but at most PredictBatch.
  absl::Duration PredictionError(int64_t tokens) const;
  // Predicts the time of one request outside the forward pass: for decoding the image and making the answer.
  absl::Duration PredictBesideCompute(int64_t pixels, int64_t overlay_pixels = 0) const;

 private:
  mutable Mutex mutex_;
  LinearFit seconds_of_batch_ ABSL_GUARDED_BY(mutex_);  // seconds of a batch, by its tokens
  double seconds_per_token_ ABSL_GUARDED_BY(mutex_) = 0;
  // mean square of the relative excess of batches over their prediction
  double excess_squared_ ABSL_GUARDED_BY(mutex_) = 0;
  // Means of the decoding time and of the pixels per image. Their quotient is the decoding time per pixel. A mean of
  // the quotients of single images would be too high for large images, because small images have a high fixed cost per
  // pixel.
  double decode_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  double decode_pixels_ ABSL_GUARDED_BY(mutex_) = 0;
  double seconds_per_answer_ ABSL_GUARDED_BY(mutex_) = 0;         // mean of answers without overlays
  double seconds_per_overlay_pixel_ ABSL_GUARDED_BY(mutex_) = 0;  // zero: not observed yet
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_COST_MODEL_H_
