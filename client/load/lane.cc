#include "client/load/lane.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <utility>

#include "client/load/random.h"

namespace vitrine {
namespace {

constexpr char kMethod[] = "/vitrine.v1.Classifier/Classify";
// How often a thread that has nothing to do looks whether the run is over.
constexpr int64_t kTick = 20'000'000;
// In a closed loop a connection that is lost is tried again after this long.
constexpr int64_t kPause = 10'000'000;
// Parsing answers must not become the load: about so many a second are looked into.
constexpr uint64_t kLooksPerSecond = 4000;
constexpr int64_t kLookInterval = 250'000'000;

gpr_timespec Monotonic(int64_t nanoseconds) {
  gpr_timespec time = gpr_time_from_nanos(nanoseconds, GPR_TIMESPAN);
  time.clock_type = GPR_CLOCK_MONOTONIC;
  return time;
}

}  // namespace

std::vector<grpc::ByteBuffer> SharedRequests(const Workload& workload) {
  std::vector<grpc::ByteBuffer> requests;
  for (const Workload::Request& request : workload.requests) {
    const grpc::Slice slice(request.bytes.data(), request.bytes.size(), grpc::Slice::STATIC_SLICE);
    requests.emplace_back(&slice, 1);
  }
  return requests;
}

Lane::Lane(const Plan& plan, const LoadConnections& connections, int number)
    : plan_(plan),
      number_(number),
      most_slots_(Share(
          static_cast<uint64_t>(plan.settings.arrivals ? plan.settings.max_outstanding : plan.settings.concurrency))),
      started_(plan.interval, plan.workload.classes.size()),
      received_(plan.interval, plan.workload.classes.size()) {
  for (size_t i = static_cast<size_t>(number); i < connections.size(); i += static_cast<size_t>(plan.lanes)) {
    stubs_.emplace_back(connections[i]);
  }
}

// This lane's share of what is divided among all.
uint64_t Lane::Share(uint64_t all) const {
  const auto lanes = static_cast<uint64_t>(plan_.lanes);
  return all / lanes + (static_cast<uint64_t>(number_) < all % lanes);
}

bool Lane::Enough() const {
  return plan_.settings.max_requests > 0 && measured_ >= Share(plan_.settings.max_requests);
}

Lane::Slot* Lane::TakeSlot() {
  if (free_.empty()) {
    const std::lock_guard lock(freed_mutex_);
    free_.swap(freed_);
  }
  if (free_.empty()) {
    if (slots_.size() == most_slots_) return nullptr;
    free_.push_back(&slots_.emplace_back());
  }
  Slot* slot = free_.back();
  free_.pop_back();
  return slot;
}

void Lane::Start(Slot& slot, const Arrival& arrival, int64_t now) {
  slot.due = arrival.due;
  slot.number = arrival.number;
  slot.request = plan_.settings.trace ? arrival.request : plan_.workload.Pick(plan_.settings.seed, arrival.number);
  const uint32_t request_class = plan_.workload.requests[slot.request].request_class;
  last_due_ = arrival.due;
  measured_ += plan_.interval.Holds(arrival.due);
  {
    const std::lock_guard lock(started_mutex_);
    started_.Started(request_class, arrival.due, now);
  }
  slot.context.emplace();
  const absl::Duration deadline = plan_.workload.classes[request_class].deadline;
  if (deadline < absl::InfiniteDuration()) {
    slot.context->set_deadline(Monotonic(plan_.clock.Monotonic(arrival.due) + absl::ToInt64Nanoseconds(deadline)));
  }
  slot.call =
      stubs_[sent_++ % stubs_.size()].PrepareUnaryCall(&*slot.context, kMethod, plan_.requests[slot.request], &queue_);
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  slot.under_way.store(true, std::memory_order_release);
  slot.call->StartCall();
  slot.call->Finish(&slot.answer, &slot.status, &slot);
}

void Lane::Send() {
  const std::unique_ptr<Arrivals> arrivals = LaneOf(plan_.settings.arrivals(), number_, plan_.lanes);
  const auto stopped = [this] { return plan_.hooks.stopped() || Enough(); };
  Pace(*arrivals, plan_.interval.to, plan_.clock, stopped, [this](const Arrival& arrival, int64_t now) {
    if (Slot* slot = TakeSlot()) return Start(*slot, arrival, now);
    const uint32_t request =
        plan_.settings.trace ? arrival.request : plan_.workload.Pick(plan_.settings.seed, arrival.number);
    measured_ += plan_.interval.Holds(arrival.due);
    const std::lock_guard lock(started_mutex_);
    started_.NotSent(plan_.workload.requests[request].request_class, arrival.due);
  });
  sending_.store(false, std::memory_order_release);
}

void Lane::Begin() {
  for (size_t i = 0; i < most_slots_; ++i) SendNext(*TakeSlot(), plan_.clock.Now());
}

void Lane::SendNext(Slot& slot, int64_t now) {
  if (now >= plan_.interval.to || Enough() || plan_.hooks.stopped()) return;
  // Lanes number their requests apart, so that no two draw the same.
  const uint64_t number = sent_ * static_cast<uint64_t>(plan_.lanes) + static_cast<uint64_t>(number_);
  Start(slot, Arrival{now, number, 0}, now);
}

void Lane::SendParked(int64_t now) {
  while (!parked_.empty() && parked_.front().until <= now) {
    Slot* slot = parked_.front().slot;
    parked_.pop_front();
    SendNext(*slot, now);
  }
}

void Lane::OnEnd(Slot& slot, int64_t now) {
  slot.under_way.exchange(false, std::memory_order_acquire);
  const uint32_t request_class = plan_.workload.requests[slot.request].request_class;
  const absl::Duration deadline = plan_.workload.classes[request_class].deadline;
  {
    const std::lock_guard lock(received_mutex_);
    if (slot.status.ok()) {
      received_.Answered(request_class, slot.due, now,
                         deadline < absl::InfiniteDuration() ? absl::ToInt64Nanoseconds(deadline) : INT64_MAX);
    } else if (cancelled_ && slot.status.error_code() == grpc::StatusCode::CANCELLED) {
      received_.Unanswered(slot.due);
    } else {
      received_.Failed(slot.due, now, slot.status.error_code(), slot.status.error_message());
    }
  }
  if (slot.status.ok()) Look(slot, now - slot.due);
  const bool lost = slot.status.error_code() == grpc::StatusCode::UNAVAILABLE;
  slot.answer.Clear();
  slot.call.reset();
  slot.context.reset();
  slot.status = grpc::Status();
  ended_at_ = now;
  outstanding_.fetch_sub(1, std::memory_order_relaxed);
  if (plan_.settings.arrivals) {
    const std::lock_guard lock(freed_mutex_);
    freed_.push_back(&slot);
  } else if (lost) {
    parked_.push_back({now + kPause, &slot});
  } else {
    SendNext(slot, now);
  }
}

// Parses some of the answers: a server that answers nothing would be fast, and the stages are worth knowing.
void Lane::Look(Slot& slot, int64_t latency) {
  ++answers_since_;
  const int64_t now = slot.due + latency;
  if (now - look_since_ >= kLookInterval) {
    look_every_ = 1 + answers_since_ * static_cast<uint64_t>(plan_.lanes) *
                          static_cast<uint64_t>(1'000'000'000 / kLookInterval) / kLooksPerSecond;
    answers_since_ = 0;
    look_since_ = now;
  }
  if (RandomBits(plan_.settings.seed, RandomPurpose::kLook, slot.number) % look_every_ != 0) return;
  grpc::Slice bytes;
  v1::ClassifyResponse answer;
  if (!slot.answer.DumpToSingleSlice(&bytes).ok() ||
      !answer.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    return;
  }
  const std::lock_guard lock(received_mutex_);
  received_.Look(slot.due, latency, answer);
}

// Whether more requests may come. Of a closed loop this thread decides it itself.
bool Lane::StillSending(int64_t now) {
  if (plan_.settings.arrivals) return sending_.load(std::memory_order_acquire);
  return now < plan_.interval.to && !Enough() && !plan_.hooks.stopped();
}

void Lane::CancelAll() {
  cancelled_ = true;
  for (Slot& slot : slots_) {
    if (slot.under_way.load(std::memory_order_acquire)) slot.context->TryCancel();
  }
}

void Lane::Receive() {
  if (!plan_.settings.arrivals) Begin();
  std::optional<int64_t> patient_until;
  for (;;) {
    int64_t now = plan_.clock.Now();
    if (!StillSending(now)) {
      if (!patient_until.has_value()) {
        interrupted_ = plan_.hooks.stopped() && now < plan_.interval.to;
        const absl::Duration patience = std::min(plan_.settings.patience, absl::Hours(1));
        // Who interrupts a load does not want to wait for it.
        patient_until = now + (interrupted_ ? 50 * kTick : absl::ToInt64Nanoseconds(patience));
        if (interrupted_) {
          const std::lock_guard lock(received_mutex_);
          received_.EndAt(std::max(now, plan_.interval.from));
        }
      }
      if (outstanding_.load(std::memory_order_acquire) == 0) break;
      if (!cancelled_ && now >= *patient_until) CancelAll();
    } else {
      SendParked(now);
    }
    void* tag = nullptr;
    bool ok = false;
    const gpr_timespec wake = Monotonic(plan_.clock.Monotonic(now + kTick));
    if (queue_.AsyncNext(&tag, &ok, wake) == grpc::CompletionQueue::GOT_EVENT) {
      OnEnd(*static_cast<Slot*>(tag), plan_.clock.Now());
    }
  }
  queue_.Shutdown();
  void* tag = nullptr;
  for (bool ok = false; queue_.Next(&tag, &ok);) continue;
  ended_at_ = std::max(ended_at_, last_due_ + 1);
}

LoadRecord::Second Lane::SecondSoFar(size_t number) {
  LoadRecord::Second sum;
  const auto add = [&](std::mutex& mutex, const LoadRecord& record) {
    const std::lock_guard lock(mutex);
    if (number < record.seconds().size()) sum.Add(record.seconds()[number]);
  };
  add(started_mutex_, started_);
  add(received_mutex_, received_);
  return sum;
}

LoadRecord Lane::Record() const {
  LoadRecord sum = received_;
  sum.Add(started_);
  return sum;
}

}  // namespace vitrine
