// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/backend.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/status_macros.h"

namespace vitrine::cuda {
namespace {

class CudaBackend : public Backend {
 public:
  CudaBackend(std::vector<std::unique_ptr<driver::Slot>> slots, std::vector<std::unique_ptr<Engine>> engines,
              const BatchLimits& limits)
      : limits_(limits), slots_(std::move(slots)), engines_(std::move(engines)) {
    for (const std::unique_ptr<Engine>& engine : engines_) free_.push_back(engine.get());
  }

  absl::Status Run(std::span<const engine::ImagePlanes> images, engine::Workspace& /*workspace*/, float* logits,
                   AttentionTap* attention, TokenTap* tokens) const override {
    const Lease engine(*this);
    const bool taps = (attention != nullptr && !attention->empty()) || (tokens != nullptr && !tokens->wanted().empty());
    if (taps) return engine->Run(images, logits, attention, tokens);
    while (!images.empty()) {
      const size_t count = CountThatFits(images);
      RETURN_IF_ERROR(engine->Run(images.first(count), logits));
      logits += static_cast<int64_t>(count) * engine->plan().classes;
      images = images.subspan(count);
    }
    return absl::OkStatus();
  }

 private:
  // A free engine, until the lease ends.
  class Lease {
   public:
    explicit Lease(const CudaBackend& backend) : backend_(backend) {
      const absl::MutexLock lock(&backend.mutex_, absl::Condition(&backend, &CudaBackend::HasFree));
      engine_ = backend.free_.back();
      backend.free_.pop_back();
    }
    ~Lease() {
      const absl::MutexLock lock(&backend_.mutex_);
      backend_.free_.push_back(engine_);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Engine* operator->() const { return engine_; }

   private:
    const CudaBackend& backend_;
    Engine* engine_ = nullptr;
  };

  bool HasFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !free_.empty(); }

  // Returns how many of the first images fit together, at least one.
  size_t CountThatFits(std::span<const engine::ImagePlanes> images) const {
    const int cell = engines_.front()->plan().cell;
    int64_t cells = 0, pixels = 0;
    size_t count = 0;
    for (const engine::ImagePlanes& image : images) {
      if (cell > 0) cells += int64_t{image.height / cell} * (image.width / cell);
      pixels += int64_t{image.channels} * image.height * image.width;
      const bool fits = static_cast<int>(count) < limits_.images && cells <= limits_.cells && pixels <= limits_.pixels;
      if (!fits && count > 0) break;
      ++count;
    }
    return count;
  }

  const BatchLimits limits_;
  const std::vector<std::unique_ptr<driver::Slot>> slots_;
  const std::vector<std::unique_ptr<Engine>> engines_;

  mutable absl::Mutex mutex_;
  mutable std::vector<Engine*> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(driver::Card& card, const program::Program& program,
                                                           engine::WeightSource& weights,
                                                           const BackendOptions& options) {
  if (options.slots < 1)
    return absl::InvalidArgumentError(absl::StrCat(options.slots, " slots; one or more are needed"));
  std::vector<std::unique_ptr<driver::Slot>> slots;
  std::vector<Device*> devices;
  for (int i = 0; i < options.slots; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<driver::Slot> slot, driver::Slot::Make(card, options.slot));
    devices.push_back(slot.get());
    slots.push_back(std::move(slot));
  }
  // Taps of attention launch it in a request, and code is loaded now.
  RETURN_IF_ERROR(card.Find("vitrine_attend_map", Launch().threads, 0).status());
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Engine>> engines,
                   Engine::MakeSlots(program, weights, devices, options.engine));
  return std::make_unique<CudaBackend>(std::move(slots), std::move(engines), options.engine.limits);
}

}  // namespace vitrine::cuda
