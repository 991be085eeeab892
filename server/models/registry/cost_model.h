// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_COST_MODEL_H_
#define VITRINE_SERVER_MODELS_REGISTRY_COST_MODEL_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace vitrine {

// y = a + b x by least squares, with a and b at least zero, over what was observed of late: each older point counts
// nine tenths of the next. Where the points lie too close together to tell a from b, y = b x.
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

// What a model costs on one executor, learned from what it did cost. Thread-safe.
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
  // As PredictBatch, longer by the mean error of recent batches that took longer than predicted.
  absl::Duration PredictBatchAtMost(int64_t tokens) const;
  // What one request takes beside the forward pass: decoding, and making the answer.
  absl::Duration PredictBesideCompute(int64_t pixels, int64_t overlay_pixels = 0) const;

 private:
  mutable Mutex mutex_;
  LinearFit seconds_of_batch_ ABSL_GUARDED_BY(mutex_);  // over tokens
  double seconds_per_token_ ABSL_GUARDED_BY(mutex_) = 0;
  double excess_squared_ ABSL_GUARDED_BY(mutex_) = 0;  // mean, of the part by which batches took longer than predicted
  // Means of both, so that what every small picture costs beside its pixels does not count for those of a large one.
  double decode_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  double decode_pixels_ ABSL_GUARDED_BY(mutex_) = 0;
  double seconds_per_answer_ ABSL_GUARDED_BY(mutex_) = 0;         // of those without overlays
  double seconds_per_overlay_pixel_ ABSL_GUARDED_BY(mutex_) = 0;  // zero: not observed yet
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_COST_MODEL_H_
