// SPDX-License-Identifier: Apache-2.0
// The only symbol of libvitrine_cuda.so: kCudaLibrarySymbol.
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

// Least memory of a batch: the tokens of the server's default, and a megapixel of three channels.
constexpr int kCells = 2048;
constexpr int64_t kPixels = int64_t{3} << 20;
// Pinned memory of a slot besides pixels, for positions and layouts. More is copied in parts.
constexpr size_t kStagingBesidePixels = size_t{4} << 20;

// The open devices. Never closed: the process's end does that.
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

absl::StatusOr<std::unique_ptr<const Backend>> MakeBackendOn(int device, const program::Program& program,
                                                             engine::WeightSource& weights,
                                                             const PrecisionChoice& choice,
                                                             const LargestImage& largest) {
  Card* const card = Find(device);
  if (card == nullptr) return absl::FailedPreconditionError(absl::StrCat("cuda:", device, " is not open"));
  BackendOptions options;
  options.engine.choice = choice;
  BatchLimits& limits = options.engine.limits;
  limits.cells = kCells;
  limits.pixels = kPixels;
  limits.cells = static_cast<int>(std::max<int64_t>(limits.cells, largest.cells));
  limits.pixels = std::max(limits.pixels, largest.pixels);
  options.slot.staging_bytes = static_cast<size_t>(limits.pixels) * sizeof(float) + kStagingBesidePixels;
  return MakeBackend(*card, program, weights, options);
}

constexpr CudaLibrary kLibrary = {.open_device = OpenDevice, .is_lost = IsLost, .make_backend = MakeBackendOn};

}  // namespace
}  // namespace vitrine::cuda

extern "C" __attribute__((visibility("default"))) const vitrine::CudaLibrary* vitrine_cuda_library() {
  return &vitrine::cuda::kLibrary;
}
