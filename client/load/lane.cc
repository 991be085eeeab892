// SPDX-License-Identifier: Apache-2.0
#include "client/load/lane.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <utility>

#include "client/load/answer_check.h"
#include "client/load/processor_time.h"
#include "client/load/workload/random.h"

namespace vitrine {
namespace {

constexpr char kMethod[] = "/vitrine.v1.Classifier/Classify";
// Interval in nanoseconds at which an idle thread checks for the end of the run.
constexpr int64_t kTick = 20'000'000;
// Delay in nanoseconds before a closed loop retries a lost connection.
constexpr int64_t kPause = 10'000'000;
// Maximum answers parsed per second, so that parsing does not dominate the load.
constexpr uint64_t kLooksPerSecond = 4000;
constexpr int64_t kLookInterval = 250'000'000;

// Maximum wait in nanoseconds for answers after an interrupt.
constexpr int64_t kInterruptedPatience = 500'000'000;

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
    connections_.push_back(connections[i]);
    if (plan.settings.mode == LoadMode::kStream) streams_.emplace_back(connections[i], queue_);
  }
}

// Returns this lane's share of a total.
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
  const absl::Duration deadline = plan_.workload.classes[request_class].deadline;
  if (!streams_.empty()) {
    outstanding_.fetch_add(1, std::memory_order_release);
    return streams_[sent_++ % streams_.size()].Send(
        &slot, plan_.requests[slot.request],
        deadline < absl::InfiniteDuration() ? arrival.due + absl::ToInt64Nanoseconds(deadline) : INT64_MAX, now);
  }
  slot.context.emplace();
  if (deadline < absl::InfiniteDuration()) {
    slot.context->set_deadline(Monotonic(plan_.clock.Monotonic(arrival.due) + absl::ToInt64Nanoseconds(deadline)));
  }
  slot.call = grpc::GenericStub(connections_[sent_++ % connections_.size()]->channel())
                  .PrepareUnaryCall(&*slot.context, kMethod, plan_.requests[slot.request], &queue_);
  slot.under_way.store(true, std::memory_order_release);
  outstanding_.fetch_add(1, std::memory_order_release);
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
  // Lanes use disjoint request numbers, so that two lanes never draw the same random numbers.
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

void Lane::OnEvent(void* tag, bool ok, int64_t now) {
  if (streams_.empty()) return OnEnd(*static_cast<Slot*>(tag), now);
  LoadStream::Outcomes outcomes;
  LoadStream::OnEvent(tag, ok, now, outcomes);
  OnOutcomes(outcomes, now);
}

void Lane::OnOutcomes(LoadStream::Outcomes& outcomes, int64_t now) {
  for (LoadStream::Outcome& outcome : outcomes) {
    Slot& slot = *static_cast<Slot*>(outcome.caller);
    slot.status = std::move(outcome.status);
    slot.answer.Swap(&outcome.answer);
    OnEnd(slot, now);
  }
}

void Lane::ExpireStreams(int64_t now) {
  LoadStream::Outcomes outcomes;
  for (LoadStream& stream : streams_) stream.Expire(now, outcomes);
  OnOutcomes(outcomes, now);
}

// Closes the open streams. Requires that every request has an outcome.
void Lane::CloseStreams() {
  LoadStream::Outcomes none;
  for (LoadStream& stream : streams_) {
    stream.Cancel();
    void* tag = nullptr;
    for (bool ok = false; stream.IsOpen() && queue_.Next(&tag, &ok);) {
      LoadStream::OnEvent(tag, ok, plan_.clock.Now(), none);
    }
  }
}

void Lane::OnEnd(Slot& slot, int64_t now) {
  // Makes all writes of Start visible to this thread, also the construction of a new slot. Does not rely on gRPC to
  // synchronise the two threads.
  (void)outstanding_.load(std::memory_order_acquire);
  slot.under_way.store(false, std::memory_order_relaxed);
  const uint32_t request_class = plan_.workload.requests[slot.request].request_class;
  if (slot.status.ok()) {
    OnAnswer(slot, now);
  } else {
    const std::lock_guard lock(received_mutex_);
    if (cancelled_ && slot.status.error_code() == grpc::StatusCode::CANCELLED) {
      received_.Unanswered(request_class, slot.due);
    } else {
      received_.Failed(request_class, slot.due, now, slot.status.error_code(), slot.status.error_message());
      if (slot.status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
        received_.Refused(slot.request, slot.status.error_message());
      }
    }
  }
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

// Checks every answer. Parses only some answers for their stages, so that parsing does not dominate the load.
void Lane::OnAnswer(Slot& slot, int64_t now) {
  const uint32_t request_class = plan_.workload.requests[slot.request].request_class;
  const absl::Duration deadline = plan_.workload.classes[request_class].deadline;
  grpc::Slice bytes;
  const bool read = slot.answer.TrySingleSlice(&bytes).ok() || slot.answer.DumpToSingleSlice(&bytes).ok();
  const AnswerKind kind =
      read ? KindOfAnswer({reinterpret_cast<const char*>(bytes.begin()), bytes.size()}) : AnswerKind::kUnreadable;
  const std::lock_guard lock(received_mutex_);
  if (kind == AnswerKind::kUnreadable) {
    return received_.Failed(request_class, slot.due, now, kUnreadable, "the answer is no ClassifyResponse");
  }
  if (kind == AnswerKind::kWithoutPredictions && !plan_.settings.allow_empty) {
    return received_.Failed(request_class, slot.due, now, kWithoutPredictions,
                            "the answer holds no prediction; --allow-empty counts it as answered");
  }
  received_.Answered(request_class, slot.due, now,
                     deadline < absl::InfiniteDuration() ? absl::ToInt64Nanoseconds(deadline) : INT64_MAX);
  ++answers_since_;
  if (now - look_since_ >= kLookInterval) {
    look_every_ = 1 + answers_since_ * static_cast<uint64_t>(plan_.lanes) *
                          static_cast<uint64_t>(1'000'000'000 / kLookInterval) / kLooksPerSecond;
    answers_since_ = 0;
    look_since_ = now;
  }
  if (RandomBits(plan_.settings.seed, RandomPurpose::kLook, slot.number) % look_every_ != 0) return;
  v1::ClassifyResponse answer;
  if (answer.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    received_.Look(slot.due, now - slot.due, answer);
  }
}

// Returns true if more requests may be sent. In an open loop, the sender thread decides this.
bool Lane::StillSending(int64_t now) {
  if (plan_.settings.arrivals) return sending_.load(std::memory_order_acquire);
  return now < plan_.interval.to && !Enough() && !plan_.hooks.stopped();
}

void Lane::CancelAll() {
  cancelled_ = true;
  for (LoadStream& stream : streams_) stream.Cancel();
  for (Slot& slot : slots_) {
    if (slot.under_way.load(std::memory_order_acquire)) slot.context->TryCancel();
  }
}

// Starts the wait for the last answers. If max_requests were sent, also ends the measured interval soon after the last
// request, because the last answer may come much later.
void Lane::OnSent(int64_t now) {
  all_sent_ = true;
  patient_until_ = now + absl::ToInt64Nanoseconds(std::min(plan_.settings.patience, absl::Hours(1)));
  if (!Enough() || plan_.settings.trace || now >= plan_.interval.to) return;
  int64_t end = std::max(now, last_due_ + 1);
  if (plan_.settings.arrivals) {
    if (measured_ < 2) return;
    const int64_t span = last_due_ - plan_.interval.from;
    end = last_due_ + span / static_cast<int64_t>(measured_ - 1);
  } else if (measured_ <= most_slots_) {
    return;  // all requests were sent at once, so the interval must not end before their answers
  }
  const std::lock_guard lock(received_mutex_);
  received_.EndAt(std::clamp(end, plan_.interval.from + 1, plan_.interval.to));
}

void Lane::OnInterrupt(int64_t now) {
  interrupted_ = true;
  patient_until_ = std::min(patient_until_, now + kInterruptedPatience);
  const std::lock_guard lock(received_mutex_);
  received_.EndAt(std::clamp(now, plan_.interval.from, received_.interval().to));
}

// Measures the busy share of this thread. Time spent runnable but waiting for a CPU counts as busy, because a waiting
// thread receives no answers.
void Lane::WatchOwnTime(int64_t now) {
  if (now < plan_.interval.from || all_sent_) return;
  const int64_t busy = ThreadBusyNanoseconds();
  if (!busy_at_start_.has_value()) {
    busy_at_start_ = busy;
    watched_from_ = now;
  } else if (now > *watched_from_) {
    receiver_share_ = static_cast<double>(busy - *busy_at_start_) / static_cast<double>(now - *watched_from_);
  }
}

void Lane::Receive() {
  if (!plan_.settings.arrivals) Begin();
  int64_t watch_at = plan_.interval.from, expire_at = 0;
  for (;;) {
    const int64_t now = plan_.clock.Now();
    if (!streams_.empty() && now >= expire_at) {
      ExpireStreams(now);
      expire_at = now + kTick;
    }
    if (now >= watch_at) {
      WatchOwnTime(now);
      watch_at = now + 5 * kTick;
    }
    if (!StillSending(now)) {
      if (!all_sent_) OnSent(now);
      const bool over = outstanding_.load(std::memory_order_acquire) == 0;
      const bool complete = over && (Enough() || now >= plan_.interval.to);
      if (!interrupted_ && !complete && plan_.hooks.stopped()) OnInterrupt(now);
      if (over) break;
      if (!cancelled_ && now >= patient_until_) CancelAll();
    } else {
      SendParked(now);
    }
    void* tag = nullptr;
    bool ok = false;
    const gpr_timespec wake = Monotonic(plan_.clock.Monotonic(now + kTick));
    if (queue_.AsyncNext(&tag, &ok, wake) == grpc::CompletionQueue::GOT_EVENT) {
      OnEvent(tag, ok, plan_.clock.Now());
    }
  }
  CloseStreams();
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
