// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_DRIVER_SLOT_H_
#define VITRINE_MODELS_ENGINE_CUDA_DRIVER_SLOT_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "models/engine/cuda/driver/card.h"
#include "models/engine/cuda/launches/device.h"
#include "models/engine/device_status.h"

namespace vitrine::cuda::driver {

struct SlotOptions {
  // pinned memory for copies; a batch that needs more memory waits for earlier copies
  size_t staging_bytes = size_t{32} << 20;
  size_t pinned_bytes = 0;  // size of the pinned memory that the slot's user fills
  // Timeout for queued work. After this time, the device counts as lost.
  absl::Duration limit = DeviceBatch().timeout;

  size_t Bytes() const { return staging_bytes + pinned_bytes; }  // total size of the pinned memory
};

// A stream of a GPU (Card), with pinned memory for copies. Uploads and launches are queued and return at once; a
// download waits until its copy is complete. Different slots run concurrently. The card must outlive the slot.
//
// Functions wait by polling an event of the stream. A kernel that never ends blocks a function for at most six
// times SlotOptions::limit; see DeviceBatch::timeout.
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
  StreamHandle stream() const { return stream_; }
  // Captures the launches in a CUDA graph. Runs none of them.
  absl::StatusOr<std::unique_ptr<Recorded>> Record(std::span<const Launch> launches) override;

  std::byte* pinned() const { return pinned_; }  // SlotOptions::pinned_bytes of memory
  // Queues a copy of pinned memory, which must not change until the next Download or Settle has returned. Unlike the
  // other functions of a slot, UploadPinned may be called by several threads at the same time.
  absl::Status UploadPinned(void* to, const void* pinned, size_t bytes);
  // Waits until the stream has no work. Returns false if the device must not be called any more.
  bool Settle();

  size_t device_bytes() const { return device_bytes_; }    // bytes allocated
  size_t refused_bytes() const { return refused_bytes_; }  // bytes of failed allocations
  size_t pinned_bytes() const { return options_.Bytes(); }

 private:
  friend class Graph;

  Slot(Card& card, const SlotOptions& options) : card_(card), options_(options) {}

  absl::Status Create();
  absl::Status Enqueue(const Launch& launch);
  // Queues the pending copy, if there is one.
  absl::Status Flush();
  // Waits until the stream is empty. All staging memory is free afterwards.
  absl::Status Wait();
  // Returns true if an upload to `target` can extend the pending copy. Returns false for the start of another
  // allocation, even at an adjacent address, because the driver rejects a copy into two allocations.
  bool Extends(const std::byte* target) const;

  Card& card_;
  const SlotOptions options_;
  StreamHandle stream_ = nullptr;
  EventHandle event_ = nullptr;
  std::byte* staging_ = nullptr;
  std::byte* pinned_ = nullptr;
  absl::Status allocation_error_;
  size_t device_bytes_ = 0, refused_bytes_ = 0;
  std::set<const std::byte*> allocations_;

  std::atomic<bool> busy_ = false;  // true: the stream may have work
  size_t used_ = 0;                 // bytes of the staging memory that queued copies may still read
  // Copy that is not queued yet. An upload to the addresses directly after it, in the same allocation, extends this
  // copy.
  std::byte* pending_to_ = nullptr;
  size_t pending_from_ = 0, pending_bytes_ = 0;
};

}  // namespace vitrine::cuda::driver

#endif  // VITRINE_MODELS_ENGINE_CUDA_DRIVER_SLOT_H_
