// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/batcher.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "common/status_macros.h"

namespace vitrine::cuda {
namespace {

size_t PixelsOf(const ImagePlanes& image) {
  return static_cast<size_t>(int64_t{image.channels} * image.height * image.width);
}

}  // namespace

Batcher::Batcher(driver::Card& card, std::vector<std::unique_ptr<driver::Slot>> slots,
                 std::vector<std::unique_ptr<Engine>> engines, const BatchLimits& limits)
    : card_(card),
      limits_(limits),
      slots_(std::move(slots)),
      engines_(std::move(engines)),
      room_(std::max(1, static_cast<int>(slots_.size()) - 1)) {
  lanes_.reserve(slots_.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    Lane& lane = lanes_.emplace_back(Lane{slots_[i].get(), engines_[i].get(), Empty(), {}, {}, {}, 0, false, {}});
    free_.push_back(&lane);
    // Reserves memory here, because a batch that cannot allocate memory would leave its callers without an answer.
    const auto images = static_cast<size_t>(limits_.images);
    lane.images.reserve(images);
    lane.callers.reserve(images);
    lane.logits.resize(images * static_cast<size_t>(engines_[i]->plan().classes));
  }
}

Batcher::~Batcher() = default;

// Scope guard: its caller is in the queue as long as the guard exists. The destructor notifies the next callers.
// Requires the batcher's lock.
class Batcher::Queued {
 public:
  Queued(Batcher& batcher, std::deque<Caller*>& queue, Caller& caller) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : batcher_(batcher),
        queue_(queue),
        caller_(caller) {
    caller.ticket = batcher.next_ticket_++;
    queue.push_back(&caller);
  }
  ~Queued() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::erase(queue_, &caller_);
    batcher_.WakeWaiting();
  }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;

 private:
  Batcher& batcher_;
  std::deque<Caller*>& queue_;
  Caller& caller_;
};

size_t Batcher::CountThatFits(std::span<const ImagePlanes> images) const {
  BatchSize size = Empty();
  size_t count = 0;
  while (count < images.size() && size.AddIfFits(images.subspan(count, 1))) ++count;
  return count;
}

absl::Status Batcher::Run(std::span<const ImagePlanes> images, float* logits) {
  while (!images.empty()) {
    const size_t count = CountThatFits(images);
    if (count == 0) {
      BatchSize size = Empty();
      size.Add(images.front());
      return size.Check();
    }
    RETURN_IF_ERROR(RunPart(images.first(count), logits));
    logits += static_cast<int64_t>(count) * engines_.front()->plan().classes;
    images = images.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status Batcher::RunPart(std::span<const ImagePlanes> images, float* logits) {
  Caller caller(images, logits);
  int64_t first_pixel = 0;
  Lane& lane = Join(caller, first_pixel);
  const absl::Status copied = Copy(lane, images, first_pixel);
  bool leads = false;
  {
    const MutexLock lock(mutex_);
    lane.copied.Update(copied);
    Caller& first = *lane.callers.front();
    if (--lane.copying == 0) first.changed.NotifyOne();
    leads = &first == &caller;
    while (!leads && !caller.has_answer) caller.changed.Wait(mutex_);
  }
  if (leads) Lead(lane, caller);
  return caller.answer;
}

Batcher::Lane& Batcher::Join(Caller& caller, int64_t& first_pixel) {
  const MutexLock lock(mutex_);
  const Queued queued(*this, joining_, caller);
  Lane* lane = nullptr;
  while (joining_.front() != &caller || (lane = TakePlace(caller, first_pixel)) == nullptr) caller.changed.Wait(mutex_);
  return *lane;
}

Batcher::Lane* Batcher::TakePlace(Caller& caller, int64_t& first_pixel) {
  if (open_ != nullptr) first_pixel = open_->size.pixels();
  if (open_ == nullptr || !open_->size.AddIfFits(caller.images)) {
    if (open_ != nullptr) {
      open_->is_full = true;
      open_->callers.front()->changed.NotifyOne();
    }
    open_ = TakeFree(caller, alone_);
    if (open_ == nullptr) return nullptr;
    first_pixel = 0;
    for (const ImagePlanes& image : caller.images) open_->size.Add(image);
  }
  Lane* const lane = open_;
  lane->images.insert(lane->images.end(), caller.images.begin(), caller.images.end());
  lane->callers.push_back(&caller);
  ++lane->copying;
  if (lane->size.IsFull()) {
    lane->is_full = true;
    lane->callers.front()->changed.NotifyOne();
    open_ = nullptr;
  }
  return lane;
}

// Returns a free lane. Returns null if there is none, or if a caller in `others` has waited longer than `caller`.
Batcher::Lane* Batcher::TakeFree(const Caller& caller, const std::deque<Caller*>& others) {
  if (free_.empty() || (!others.empty() && others.front()->ticket < caller.ticket)) return nullptr;
  Lane* const lane = free_.back();
  free_.pop_back();
  return lane;
}

void Batcher::WakeWaiting() {
  if (!joining_.empty()) joining_.front()->changed.NotifyOne();
  if (!alone_.empty()) alone_.front()->changed.NotifyOne();
}

absl::Status Batcher::Copy(const Lane& lane, std::span<const ImagePlanes> images, int64_t first_pixel) const {
  if (card_.lost()) return card_.Enter();  // copies of a failed batch may still read the pinned memory
  float* const pinned = reinterpret_cast<float*>(lane.slot->pinned()) + first_pixel;
  size_t pixels = 0;
  for (const ImagePlanes& image : images) {
    std::memcpy(pinned + pixels, image.data, PixelsOf(image) * sizeof(float));
    pixels += PixelsOf(image);
  }
  return lane.slot->UploadPinned(lane.engine->pixels() + first_pixel, pinned, pixels * sizeof(float));
}

void Batcher::Lead(Lane& lane, Caller& first) {
  {
    const MutexLock lock(mutex_);
    while (!lane.is_full && running_ >= room_) first.changed.Wait(mutex_);
    if (open_ == &lane) open_ = nullptr;
    ++running_;
    while (lane.copying > 0) first.changed.Wait(mutex_);
  }
  const int64_t classes = lane.engine->plan().classes;
  const absl::Status status = Compute(lane, lane.logits.data(), nullptr, nullptr);
  const MutexLock lock(mutex_);
  const float* from = lane.logits.data();
  for (Caller* const caller : lane.callers) {
    const size_t values = caller->images.size() * static_cast<size_t>(classes);
    if (status.ok()) std::copy_n(from, values, caller->logits);
    from += values;
    caller->answer = status;
    caller->has_answer = true;
    caller->changed.NotifyOne();
  }
  --running_;
  if (open_ != nullptr) open_->callers.front()->changed.NotifyOne();
  Release(lane);
}

absl::Status Batcher::RunAlone(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention,
                               TokenTap* tokens) {
  BatchSize size = Empty();
  for (const ImagePlanes& image : images) size.Add(image);
  RETURN_IF_ERROR(size.Check());
  Caller caller(images);
  Lane* lane = nullptr;
  {
    const MutexLock lock(mutex_);
    const Queued queued(*this, alone_, caller);
    while (alone_.front() != &caller || (lane = TakeFree(caller, joining_)) == nullptr) caller.changed.Wait(mutex_);
  }
  lane->images.assign(images.begin(), images.end());
  lane->copied = Copy(*lane, images, 0);
  absl::Status status = Compute(*lane, logits, attention, tokens);
  const MutexLock lock(mutex_);
  Release(*lane);
  return status;
}

absl::Status Batcher::Compute(Lane& lane, float* logits, AttentionTap* attention, TokenTap* tokens) const {
  absl::Status status = lane.copied;
  if (status.ok()) {
    card_.activity().Begin(static_cast<int64_t>(lane.images.size()));
    try {
      status = lane.engine->RunUploaded(lane.images, logits, attention, tokens);
    } catch (const std::exception& error) {  // every caller of the batch gets an answer, even if memory runs out
      status = absl::InternalError(error.what());
    }
    card_.activity().End();
  }
  // After a failure, queued copies may still read the pixels of the batch. Settle waits for these copies.
  if (!status.ok()) lane.slot->Settle();
  return status;
}

void Batcher::Release(Lane& lane) {
  lane.size = Empty();
  lane.images.clear();
  lane.callers.clear();
  lane.is_full = false;
  lane.copied = absl::OkStatus();
  free_.push_back(&lane);
  WakeWaiting();
}

}  // namespace vitrine::cuda
