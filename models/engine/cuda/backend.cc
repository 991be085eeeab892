// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/backend.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/engine/cuda/batcher.h"

namespace vitrine::cuda {
namespace {

class CudaBackend : public Backend {
 public:
  CudaBackend(std::unique_ptr<Batcher> batcher, int64_t saved_bytes)
      : batcher_(std::move(batcher)), saved_bytes_(saved_bytes) {}

  absl::Status Run(std::span<const engine::ImagePlanes> images, engine::Workspace& /*workspace*/, float* logits,
                   AttentionTap* attention, TokenTap* tokens) const override {
    const bool taps = (attention != nullptr && !attention->empty()) || (tokens != nullptr && !tokens->wanted().empty());
    return taps ? batcher_->RunAlone(images, logits, attention, tokens) : batcher_->Run(images, logits);
  }

  int64_t saved_bytes() const override { return saved_bytes_; }
  DeviceMemory device_memory() const override {
    DeviceMemory memory;
    for (const std::unique_ptr<driver::Slot>& slot : batcher_->slots()) {
      memory.device_bytes += static_cast<int64_t>(slot->device_bytes());
      memory.pinned_bytes += static_cast<int64_t>(slot->pinned_bytes());
    }
    return memory;
  }

 private:
  const std::unique_ptr<Batcher> batcher_;
  const int64_t saved_bytes_;
};

// Returns the error for a model that could not be loaded. If memory is too small, the message names the bytes needed
// and the flags that lower this number.
absl::Status Explain(const absl::Status& error, const driver::Card& card, const BackendOptions& options,
                     std::span<const std::unique_ptr<driver::Slot>> slots, size_t free) {
  if (!absl::IsResourceExhausted(error)) return error;
  constexpr char kHelp[] = "lower --device-batch-tokens or --device-batch-images, or unload a model";
  const std::string why(error.message());
  const size_t pinned = static_cast<size_t>(options.slots) * options.slot.Bytes();
  if (slots.size() < static_cast<size_t>(options.slots)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model needs ", pinned, " bytes of pinned host memory; ", kHelp, " (", why, ")"));
  }
  size_t needed = 0;
  for (const std::unique_ptr<driver::Slot>& slot : slots) needed += slot->device_bytes() + slot->refused_bytes();
  const BatchLimits& limits = options.engine.limits;
  return absl::ResourceExhaustedError(absl::StrCat("the model needs more than the ", free, " bytes that ", card.name(),
                                                   " has free: at least ", needed, " for its weights and ",
                                                   options.slots, " batches of up to ", limits.images, " images and ",
                                                   limits.cells, " tokens; ", kHelp, " (", why, ")"));
}

absl::Status Load(driver::Card& card, const program::Program& program, engine::WeightSource& weights,
                  const BackendOptions& options, std::vector<std::unique_ptr<driver::Slot>>& slots,
                  std::vector<std::unique_ptr<Engine>>& engines) {
  std::vector<Device*> devices;
  for (int i = 0; i < options.slots; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<driver::Slot> slot, driver::Slot::Make(card, options.slot));
    devices.push_back(slot.get());
    slots.push_back(std::move(slot));
  }
  // Requests with an AttentionTap launch this kernel, so its code is loaded now, not during a request.
  RETURN_IF_ERROR(card.Find("vitrine_attend_map", Launch().threads, 0).status());
  ASSIGN_OR_RETURN(engines, Engine::MakeSlots(program, weights, devices, options.engine));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Backend>> MakeBackend(driver::Card& card, const program::Program& program,
                                                           engine::WeightSource& weights,
                                                           const BackendOptions& options) {
  if (options.slots < 1)
    return absl::InvalidArgumentError(absl::StrCat(options.slots, " slots; one or more are needed"));
  ASSIGN_OR_RETURN(const driver::Card::Memory memory, card.ReadMemory());
  BackendOptions chosen = options;
  chosen.slot.pinned_bytes = static_cast<size_t>(options.engine.limits.pixels) * sizeof(float);
  std::vector<std::unique_ptr<driver::Slot>> slots;
  std::vector<std::unique_ptr<Engine>> engines;
  if (absl::Status loaded = Load(card, program, weights, chosen, slots, engines); !loaded.ok()) {
    return Explain(loaded, card, chosen, slots, memory.free);
  }
  const int64_t saved_bytes = engines.front()->saved_bytes();
  return std::make_unique<CudaBackend>(
      std::make_unique<Batcher>(card, std::move(slots), std::move(engines), options.engine.limits), saved_bytes);
}

}  // namespace vitrine::cuda
