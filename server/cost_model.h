#ifndef VITRINE_SERVER_COST_MODEL_H_
#define VITRINE_SERVER_COST_MODEL_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// What a model costs on one executor, learned from what it did cost. Thread-safe; concurrent observations may lose one.
//
// Exponentially weighted means, so that a model that grows slower (a busy machine) is believed after some ten batches.
// Zero until the first observation: an unknown model is admitted and measured.
class ModelCost {
 public:
  // One batch of `tokens` took `spent` in the forward pass.
  void ObserveCompute(int64_t tokens, absl::Duration spent);
  // One input of `bytes` took `spent` to decode and preprocess.
  void ObserveDecode(int64_t bytes, absl::Duration spent);
  // One answer took `spent` to make (top-k, attention maps, overlays).
  void ObserveEncode(absl::Duration spent);

  // Executor time of one request. Linear in tokens and bytes.
  absl::Duration Predict(int64_t tokens, int64_t bytes) const;

 private:
  std::atomic<double> seconds_per_token_ = 0;
  std::atomic<double> seconds_per_byte_ = 0;
  std::atomic<double> seconds_per_answer_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_COST_MODEL_H_
