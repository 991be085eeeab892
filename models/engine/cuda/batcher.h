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

// Joins the images of many threads to batches of one model, and computes them on its slots. Thread-safe.
//
// A batch is open until the device has room for it, so it forms while the device computes the one before: each caller
// takes a place in it, and copies its images into the slot's pinned memory while others copy theirs. The first caller
// of a batch launches it once the device has room or the batch is full, waits for it and hands out the logits. A caller
// whom no batch takes waits, in the order of the calls. Company does not change the bits of an image.
//
// The device has room while fewer than slots - 1 batches run (one, if there is one slot): the last slot is to be filled
// meanwhile. Batches of callers that run alone take a slot, but no batch waits for their end.
class Batcher {
 public:
  // One engine of the model for each slot; at least one.
  Batcher(driver::Card& card, std::vector<std::unique_ptr<driver::Slot>> slots,
          std::vector<std::unique_ptr<Engine>> engines, const BatchLimits& limits);
  ~Batcher();

  // Computes the logits [images, classes]. Images that exceed the limits run in parts. RESOURCE_EXHAUSTED if one alone
  // exceeds them; errors of the device, which all callers of a batch get.
  absl::Status Run(std::span<const ImagePlanes> images, float* logits);
  // Computes the logits and the tapped values in a batch of its own. RESOURCE_EXHAUSTED if the images exceed the
  // limits.
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
  // A slot, and its batch.
  struct Lane {
    driver::Slot* slot;
    Engine* engine;
    BatchSize size;
    std::vector<ImagePlanes> images;
    std::vector<Caller*> callers;  // the first one launches the batch
    std::vector<float> logits;     // of as many images as fit
    int copying = 0;               // callers that still copy
    bool is_full = false;
    absl::Status copied;  // first error of the copies
  };

  BatchSize Empty() const { return {engines_.front()->plan(), limits_}; }
  size_t CountThatFits(std::span<const ImagePlanes> images) const;
  absl::Status RunPart(std::span<const ImagePlanes> images, float* logits);
  // Waits for a place in a batch, and takes it. Sets the index of the batch's pixel where the caller's begin.
  Lane& Join(Caller& caller, int64_t& first_pixel);
  // Returns null if there is no place now.
  Lane* TakePlace(Caller& caller, int64_t& first_pixel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Lane* TakeFree(const Caller& caller, const std::deque<Caller*>& others) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Copies images to their place in a batch.
  absl::Status Copy(const Lane& lane, std::span<const ImagePlanes> images, int64_t first_pixel) const;
  // Launches the batch of a lane, and answers its callers.
  void Lead(Lane& lane, Caller& first);
  absl::Status Compute(Lane& lane, float* logits, AttentionTap* attention, TokenTap* tokens) const;
  // Empties a lane after its batch.
  void Release(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  driver::Card& card_;
  const BatchLimits limits_;
  const std::vector<std::unique_ptr<driver::Slot>> slots_;
  const std::vector<std::unique_ptr<Engine>> engines_;
  const int room_;           // batches that may run before another one is launched that is not full
  std::vector<Lane> lanes_;  // the fields of a batch: guarded by `mutex_`, but while it is computed

  Mutex mutex_;
  std::vector<Lane*> free_ ABSL_GUARDED_BY(mutex_);
  Lane* open_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the batch that callers join
  int running_ ABSL_GUARDED_BY(mutex_) = 0;       // batches, without those of RunAlone
  uint64_t next_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Caller*> joining_ ABSL_GUARDED_BY(mutex_);  // in Run, without a place
  std::deque<Caller*> alone_ ABSL_GUARDED_BY(mutex_);    // in RunAlone, without a slot
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_BATCHER_H_
