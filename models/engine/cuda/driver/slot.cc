// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/driver/slot.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine::cuda::driver {
namespace {

// Number of polls before the first sleep. A small batch ends sooner than the shortest sleep.
constexpr int kPollsWithoutSleep = 200;
constexpr std::chrono::microseconds kBetweenPolls{20};
// Longest wait of a slot while the device finishes work of other slots, as a multiple of SlotOptions::limit.
constexpr int kMostLimits = 6;

DevicePointer PointerOf(const void* memory) {
  return reinterpret_cast<DevicePointer>(memory);
}

}  // namespace

// A CUDA graph with the launches of a plan, for one slot.
class Graph : public Recorded {
 public:
  explicit Graph(Slot& slot) : slot_(slot) {}
  ~Graph() override {
    if (exec_ != nullptr && slot_.Settle()) slot_.card_.functions().cuGraphExecDestroy(exec_);
  }

  absl::Status Make(std::span<const Launch> launches) {
    const Card& card = slot_.card_;
    const Functions& call = card.functions();
    RETURN_IF_ERROR(
        card.Check(call.cuStreamBeginCapture_v2(slot_.stream_, kCaptureThreadLocal), "cuStreamBeginCapture"));
    absl::Status status;
    for (const Launch& launch : launches) status.Update(slot_.Enqueue(launch));
    GraphHandle graph = nullptr;
    status.Update(card.Check(call.cuStreamEndCapture(slot_.stream_, &graph), "cuStreamEndCapture"));
    if (status.ok()) {
      status = card.Check(call.cuGraphInstantiateWithFlags(&exec_, graph, 0), "cuGraphInstantiate");
    }
    if (graph != nullptr) status.Update(card.Check(call.cuGraphDestroy(graph), "cuGraphDestroy"));
    // Makes the driver allocate the memory of the graph now, not in the first run.
    slot_.busy_ = true;
    if (status.ok()) status = card.Check(call.cuGraphUpload(exec_, slot_.stream_), "cuGraphUpload");
    return status.ok() ? slot_.Wait() : status;
  }

  absl::Status Run() override {
    const Card& card = slot_.card_;
    RETURN_IF_ERROR(card.Enter());
    RETURN_IF_ERROR(slot_.Flush());
    slot_.busy_ = true;
    return card.Check(card.functions().cuGraphLaunch(exec_, slot_.stream_), "cuGraphLaunch");
  }

 private:
  Slot& slot_;
  GraphExecHandle exec_ = nullptr;
};

absl::StatusOr<std::unique_ptr<Slot>> Slot::Make(Card& card, const SlotOptions& options) {
  if (options.staging_bytes == 0) return absl::InvalidArgumentError("a slot without staging memory cannot copy");
  std::unique_ptr<Slot> slot(new Slot(card, options));
  RETURN_IF_ERROR(slot->Create());
  return slot;
}

absl::Status Slot::Create() {
  const Functions& call = card_.functions();
  RETURN_IF_ERROR(card_.Enter());
  RETURN_IF_ERROR(card_.Check(call.cuStreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate"));
  RETURN_IF_ERROR(card_.Check(call.cuEventCreate(&event_, kEventDisableTiming), "cuEventCreate"));
  void* staging = nullptr;
  RETURN_IF_ERROR(card_.Check(call.cuMemHostAlloc(&staging, options_.Bytes(), 0),
                              absl::StrCat("cuMemHostAlloc of ", options_.Bytes(), " bytes")));
  staging_ = static_cast<std::byte*>(staging);
  pinned_ = staging_ + options_.staging_bytes;
  return absl::OkStatus();
}

Slot::~Slot() {
  if (!Settle()) return;
  const Functions& call = card_.functions();
  if (staging_ != nullptr) call.cuMemFreeHost(staging_);
  if (event_ != nullptr) call.cuEventDestroy_v2(event_);
  if (stream_ != nullptr) call.cuStreamDestroy_v2(stream_);
}

void* Slot::Allocate(size_t bytes) {
  DevicePointer memory = 0;
  allocation_error_ = card_.Enter();
  if (!allocation_error_.ok()) return nullptr;
  const Result result = card_.functions().cuMemAlloc_v2(&memory, bytes);
  allocation_error_ = card_.Check(result, absl::StrCat("cuMemAlloc of ", bytes, " bytes"));
  (allocation_error_.ok() ? device_bytes_ : refused_bytes_) += bytes;
  if (!allocation_error_.ok()) return nullptr;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  auto* const buffer = reinterpret_cast<std::byte*>(memory);
  allocations_.insert(buffer);
  return buffer;
}

void Slot::Free(void* buffer) {
  allocations_.erase(static_cast<const std::byte*>(buffer));
  if (Settle()) static_cast<void>(card_.Check(card_.functions().cuMemFree_v2(PointerOf(buffer)), "cuMemFree"));
}

// Does not call a lost device, because the call could block.
bool Slot::Settle() {
  if (busy_ || pending_bytes_ > 0) static_cast<void>(Wait());
  return card_.Enter().ok() || !card_.lost();
}

absl::Status Slot::Upload(void* to, const void* from, size_t bytes) {
  RETURN_IF_ERROR(card_.Enter());
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  while (bytes > 0) {
    if (used_ == options_.staging_bytes) RETURN_IF_ERROR(Wait());
    const size_t part = std::min(bytes, options_.staging_bytes - used_);
    if (!Extends(target)) {
      RETURN_IF_ERROR(Flush());
      pending_to_ = target;
      pending_from_ = used_;
    }
    std::memcpy(staging_ + used_, source, part);
    used_ += part;
    pending_bytes_ += part;
    source += part;
    target += part;
    bytes -= part;
  }
  return absl::OkStatus();
}

bool Slot::Extends(const std::byte* target) const {
  return pending_bytes_ > 0 && pending_to_ + pending_bytes_ == target && pending_from_ + pending_bytes_ == used_ &&
         !allocations_.contains(target);
}

absl::Status Slot::Flush() {
  if (pending_bytes_ == 0) return absl::OkStatus();
  const size_t bytes = std::exchange(pending_bytes_, 0);
  busy_ = true;
  card_.activity().CountUpload(static_cast<int64_t>(bytes));
  const DevicePointer to = PointerOf(pending_to_);
  return card_.Check(card_.functions().cuMemcpyHtoDAsync_v2(to, staging_ + pending_from_, bytes, stream_),
                     "cuMemcpyHtoDAsync");
}

absl::Status Slot::UploadPinned(void* to, const void* pinned, size_t bytes) {
  RETURN_IF_ERROR(card_.Enter());
  busy_ = true;
  card_.activity().CountUpload(static_cast<int64_t>(bytes));
  return card_.Check(card_.functions().cuMemcpyHtoDAsync_v2(PointerOf(to), pinned, bytes, stream_),
                     "cuMemcpyHtoDAsync of pixels");
}

// The stream runs copies in order, so earlier uploads have read the staging memory before this copy overwrites it.
absl::Status Slot::Download(void* to, const void* from, size_t bytes) {
  RETURN_IF_ERROR(card_.Enter());
  RETURN_IF_ERROR(Flush());
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const size_t part = std::min(bytes, options_.staging_bytes);
    used_ = std::max(used_, part);
    busy_ = true;
    RETURN_IF_ERROR(card_.Check(card_.functions().cuMemcpyDtoHAsync_v2(staging_, PointerOf(source), part, stream_),
                                "cuMemcpyDtoHAsync"));
    RETURN_IF_ERROR(Wait());
    std::memcpy(target, staging_, part);
    source += part;
    target += part;
    bytes -= part;
  }
  return absl::OkStatus();
}

absl::Status Slot::Wait() {
  using Clock = Card::Clock;
  const Functions& call = card_.functions();
  RETURN_IF_ERROR(card_.Enter());
  RETURN_IF_ERROR(Flush());
  RETURN_IF_ERROR(card_.Check(call.cuEventRecord(event_, stream_), "cuEventRecord"));
  const Clock::time_point start = Clock::now();
  const std::chrono::nanoseconds limit = absl::ToChronoNanoseconds(options_.limit);
  for (int polls = 0;; ++polls) {
    // Reads the clock before the event: if the process is stopped between the two reads, work that has ended must not
    // count as late.
    const Clock::time_point now = Clock::now();
    const bool is_late = polls >= kPollsWithoutSleep &&
                         (now - std::max(start, card_.last_end()) > limit || now - start > kMostLimits * limit);
    const Result result = call.cuEventQuery(event_);
    if (result == kSuccess) break;
    if (result != kNotReady) return card_.Check(result, "cuEventQuery");
    if (polls < kPollsWithoutSleep) {
      std::this_thread::yield();
      continue;
    }
    if (is_late) {
      card_.Lose(absl::StrCat(card_.name(), " did not finish within ", absl::FormatDuration(options_.limit),
                              ": a kernel does not end, the device hangs, or a batch is too large for it (see "
                              "--device-batch-timeout); the device serves a new process alone"));
    }
    if (card_.lost()) return card_.Enter();  // another slot may have marked the card as lost
    std::this_thread::sleep_for(kBetweenPolls);
  }
  card_.NoteEnd();
  used_ = 0;
  busy_ = false;
  return absl::OkStatus();
}

absl::Status Slot::Enqueue(const Launch& launch) {
  absl::StatusOr<Kernel> kernel = card_.Find(launch.kernel, launch.threads, launch.shared_bytes);
  if (!kernel.ok()) return kernel.status();
  // The driver copies the arguments during the call.
  void* parameters[] = {const_cast<std::byte*>(launch.arguments.data())};
  const Result result = card_.functions().cuLaunchKernel(
      kernel->function, static_cast<unsigned>(kernel->blocks), 1, 1, static_cast<unsigned>(launch.threads), 1, 1,
      static_cast<unsigned>(launch.shared_bytes), stream_, parameters, nullptr);
  return card_.Check(result, absl::StrCat(launch.step, ": cuLaunchKernel of ", launch.kernel));
}

absl::Status Slot::Run(const Launch& launch) {
  RETURN_IF_ERROR(card_.Enter());
  RETURN_IF_ERROR(Flush());
  busy_ = true;
  return Enqueue(launch);
}

absl::StatusOr<std::unique_ptr<Recorded>> Slot::Record(std::span<const Launch> launches) {
  RETURN_IF_ERROR(card_.Enter());
  RETURN_IF_ERROR(Flush());
  // Loads code before the capture: loading allocates memory, and a capture does not allow allocations.
  for (const Launch& launch : launches) {
    RETURN_IF_ERROR(card_.Find(launch.kernel, launch.threads, launch.shared_bytes).status());
  }
  auto graph = std::make_unique<Graph>(*this);
  RETURN_IF_ERROR(graph->Make(launches));
  return graph;
}

}  // namespace vitrine::cuda::driver
