// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_DRIVER_SLOT_H_
#define VITRINE_MODELS_ENGINE_CUDA_DRIVER_SLOT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "models/engine/cuda/driver/card.h"
#include "models/engine/cuda/launches/device.h"

namespace vitrine::cuda::driver {

struct SlotOptions {
  size_t staging_bytes = size_t{32} << 20;  // pinned memory for copies; a batch that needs more waits in between
  // Longest time that the device may take for what was queued. Past it the device counts as lost.
  absl::Duration limit = absl::Seconds(60);
};

// A stream of a card with pinned memory for copies. Uploads and launches are queued and return at once; a download
// waits. Different slots run at the same time. The card must outlive the slot.
//
// Waiting polls an event of the stream, so that a kernel which does not end costs at most the limit.
class Slot : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<Slot>> Make(Card& card, const SlotOptions& options = {});
  ~Slot() override;

  void* Allocate(size_t bytes) override;
  absl::Status allocation_error() const override { return allocation_error_; }
  void Free(void* buffer) override;
  absl::Status Upload(void* to, const void* from, size_t bytes) override;
  absl::Status Download(void* to, const void* from, size_t bytes) override;
  absl::Status Run(const Launch& launch) override;
  // Makes a graph of the launches.
  absl::StatusOr<std::unique_ptr<Recorded>> Record(std::span<const Launch> launches) override;

 private:
  friend class Graph;

  Slot(Card& card, const SlotOptions& options) : card_(card), options_(options) {}

  absl::Status Create();
  absl::Status Enqueue(const Launch& launch);
  // Queues the copy that uploads have gathered.
  absl::Status Flush();
  // Waits until the stream is empty; then all of the staging memory is free.
  absl::Status Wait();
  // Waits if a failed call has left work in the stream. Returns false if the device must not be called any more.
  bool Settle();

  Card& card_;
  const SlotOptions options_;
  StreamHandle stream_ = nullptr;
  EventHandle event_ = nullptr;
  std::byte* staging_ = nullptr;
  absl::Status allocation_error_;

  bool busy_ = false;  // the stream may have work
  size_t used_ = 0;    // bytes of the staging memory that copies may still read
  // A copy that is not queued yet; uploads to neighbouring places extend it.
  std::byte* pending_to_ = nullptr;
  size_t pending_from_ = 0, pending_bytes_ = 0;
};

}  // namespace vitrine::cuda::driver

#endif  // VITRINE_MODELS_ENGINE_CUDA_DRIVER_SLOT_H_
