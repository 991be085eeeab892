// SPDX-License-Identifier: Apache-2.0
// Defines the only symbol of libvitrine_cuda.so: kCudaLibrarySymbol.
#include <algorithm>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/status_macros.h"
#include "models/engine/cuda/backend.h"
#include "models/engine/cuda/kernels/image.h"
#include "models/engine/cuda_library.h"

namespace vitrine::cuda {
namespace {

using driver::Card;

// Pinned memory of a slot for all copies except those of pixels, for example of position rows and logits. Larger copies
// are split.
constexpr size_t kStagingBytes = size_t{4} << 20;

// The open devices. They are never closed; the end of the process releases them.
struct Cards {
  absl::Mutex mutex;
  std::map<int, std::unique_ptr<Card>> cards ABSL_GUARDED_BY(mutex);
};
Cards& OpenCards() {
  static auto& cards = *new Cards;
  return cards;
}

Card* Find(int device) {
  Cards& open = OpenCards();
  const absl::MutexLock lock(&open.mutex);
  const auto found = open.cards.find(device);
  return found == open.cards.end() ? nullptr : found->second.get();
}

absl::Status NotOpen(int device) {
  return absl::FailedPreconditionError(absl::StrCat("cuda:", device, " is not open"));
}

absl::Status OpenDevice(int device) {
  ASSIGN_OR_RETURN(const driver::Driver driver, driver::Driver::Open());
  ASSIGN_OR_RETURN(std::unique_ptr<Card> card, Card::Open(driver, device, vitrine_cuda_image));
  Cards& open = OpenCards();
  const absl::MutexLock lock(&open.mutex);
  open.cards[device] = std::move(card);
  return absl::OkStatus();
}

bool IsLost(int device) {
  const Card* const card = Find(device);
  return card == nullptr || card->lost();
}

absl::StatusOr<DeviceStatus> StatusOf(int device) {
  Card* const card = Find(device);
  if (card == nullptr) return NotOpen(device);
  ASSIGN_OR_RETURN(const Card::Memory memory, card->ReadMemory());
  const driver::Activity::Counts counts = card->activity().counts();
  return DeviceStatus{.free_bytes = static_cast<int64_t>(memory.free),
                      .total_bytes = static_cast<int64_t>(memory.total),
                      .batches = counts.batches,
                      .images = counts.images,
                      .uploaded_bytes = counts.uploaded_bytes,
                      .busy = counts.busy};
}

// Returns the limits of a batch. The limit on pixels allows as many images of the largest size as the limits on tokens
// and on images allow.
BatchLimits LimitsFor(const LargestImage& largest, const DeviceBatch& most) {
  BatchLimits limits;
  limits.images = most.images;
  limits.cells = static_cast<int>(std::max<int64_t>(most.tokens, largest.cells));
  const int64_t by_tokens = largest.cells == 0 ? most.images : (limits.cells + largest.cells - 1) / largest.cells;
  limits.pixels = std::min<int64_t>(most.images, by_tokens) * largest.pixels;
  return limits;
}

absl::StatusOr<std::unique_ptr<const Backend>> MakeBackendOn(int device, const program::Program& program,
                                                             engine::WeightSource& weights,
                                                             const PrecisionChoice& choice, const LargestImage& largest,
                                                             const DeviceBatch& most) {
  Card* const card = Find(device);
  if (card == nullptr) return NotOpen(device);
  BackendOptions options;
  options.engine.choice = choice;
  options.engine.limits = LimitsFor(largest, most);
  options.slot.staging_bytes = kStagingBytes;
  options.slot.limit = most.timeout;
  return MakeBackend(*card, program, weights, options);
}

constexpr CudaLibrary kLibrary = {.open_device = OpenDevice,
                                  .is_lost = IsLost,
                                  .status = StatusOf,
                                  .make_backend = MakeBackendOn,
                                  .kernels = vitrine_cuda_image};

}  // namespace
}  // namespace vitrine::cuda

extern "C" __attribute__((visibility("default"))) const vitrine::CudaLibrary* vitrine_cuda_library() {
  return &vitrine::cuda::kLibrary;
}
