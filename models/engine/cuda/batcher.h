// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_BATCHER_H_
#define VITRINE_MODELS_ENGINE_CUDA_BATCHER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "models/engine/cuda/batch_size.h"
#include "models/engine/cuda/driver/card.h"
#include "models/engine/cuda/driver/slot.h"
#include "models/engine/cuda/engine.h"

namespace vitrine::cuda {

// Forms batches from the images of many threads for one model, and computes them on the model's slots. Thread-safe.
//
// Callers join the open batch until it is launched. The batch is filled while the device computes the previous batch.
// Each caller reserves a place in the batch, then copies its images into the slot's pinned memory, concurrently with
// other callers. The first caller of a batch launches it as soon as the device has room or the batch is full. Then this
// caller waits for the results and distributes the logits. If the images of a caller fit into no batch, the caller
// waits; waiting callers are served in the order of their calls. The bits of an image's logits do not depend on the
// other images of its batch.
//
// The device has room while fewer than max(1, slots - 1) batches run, because one slot is being filled. A batch of
// RunAlone uses a slot, but does not count as running.
class Batcher {
 public:
  // Requires at least one slot, and one engine of the model for each slot.
  Batcher(driver::Card& card, std::vector<std::unique_ptr<driver::Slot>> slots,
          std::vector<std::unique_ptr<Engine>> engines, const BatchLimits& limits);
  ~Batcher();

  // Computes the logits [images, classes]. Images that together exceed the limits of a batch run in several batches.
  // RESOURCE_EXHAUSTED if a single image exceeds these limits. Returns errors of the device to all callers of the
  // batch.
  absl::Status Run(std::span<const ImagePlanes> images, float* logits);
  // Computes the logits and the tapped values in a separate batch. RESOURCE_EXHAUSTED if the images together exceed the
  // limits of a batch.
  absl::Status RunAlone(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention, TokenTap* tokens);

  const std::vector<std::unique_ptr<driver::Slot>>& slots() const { return slots_; }

 private:
  // A thread in Run or RunAlone.
  struct Caller {
    explicit Caller(std::span<const ImagePlanes> its_images, float* its_logits = nullptr)
        : images(its_images), logits(its_logits) {}

    const std::span<const ImagePlanes> images;
    float* const logits;
    uint64_t ticket = 0;  // order of the calls
    bool has_answer = false;
    absl::Status answer;
    CondVar changed;
  };
  class Queued;
  // A slot, its engine, and the batch that is filled or computed in it.
  struct Lane {
    driver::Slot* slot;
    Engine* engine;
    BatchSize size;
    std::vector<ImagePlanes> images;
    std::vector<Caller*> callers;  // the first one launches the batch
    std::vector<float> logits;     // room for the images of the largest batch
    int copying = 0;               // number of callers that are still copying
    bool is_full = false;
    absl::Status copied;  // first error of a copy
  };

  BatchSize Empty() const { return {engines_.front()->plan(), limits_}; }
  size_t CountThatFits(std::span<const ImagePlanes> images) const;
  absl::Status RunPart(std::span<const ImagePlanes> images, float* logits);
  // Waits for a place in a batch and reserves it. Sets `first_pixel` to the offset of the caller's pixels in the batch.
  Lane& Join(Caller& caller, int64_t& first_pixel);
  // Like Join, but returns null instead of waiting.
  Lane* TakePlace(Caller& caller, int64_t& first_pixel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Lane* TakeFree(const Caller& caller, const std::deque<Caller*>& others) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Copies images to their place in a batch.
  absl::Status Copy(const Lane& lane, std::span<const ImagePlanes> images, int64_t first_pixel) const;
  // Launches the batch of a lane and answers its callers. Called by the batch's first caller.
  void Lead(Lane& lane, Caller& first);
  absl::Status Compute(Lane& lane, float* logits, AttentionTap* attention, TokenTap* tokens) const;
  // Empties a lane after its batch has been computed.
  void Release(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  driver::Card& card_;
  const BatchLimits limits_;
  const std::vector<std::unique_ptr<driver::Slot>> slots_;
  const std::vector<std::unique_ptr<Engine>> engines_;
  const int room_;           // while this many batches run, only full batches are launched
  std::vector<Lane> lanes_;  // a batch's fields are guarded by `mutex_`, except while the batch is computed

  Mutex mutex_;
  std::vector<Lane*> free_ ABSL_GUARDED_BY(mutex_);
  Lane* open_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the batch that callers join
  int running_ ABSL_GUARDED_BY(mutex_) = 0;       // number of running batches, except those of RunAlone
  uint64_t next_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Caller*> joining_ ABSL_GUARDED_BY(mutex_);  // callers in Run that wait for a place
  std::deque<Caller*> alone_ ABSL_GUARDED_BY(mutex_);    // callers in RunAlone that wait for a slot
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_BATCHER_H_
