// SPDX-License-Identifier: Apache-2.0
#include "server/scheduling/scheduler.h"

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

absl::Status Cancelled() {
  return absl::CancelledError("the client cancelled the request; nothing was computed");
}

absl::Status Expired() {
  return absl::DeadlineExceededError("the deadline passed while the request waited; nothing was computed");
}

absl::Status Draining() {
  return absl::UnavailableError("the server is draining; another replica will answer");
}

// Said to requests that were accepted: never the sentence of a refusal, so that books can tell them apart.
absl::Status GivenUp() {
  return absl::UnavailableError("the server ended before this request's turn came; another replica will answer");
}

}  // namespace

Scheduler::Scheduler(const BatchOptions& options, const Clock& clock, bool sweep) : options_(options), clock_(clock) {
  if (sweep) sweeper_.emplace(kSweepPeriod, [this] { Sweep(); });
}

Scheduler::~Scheduler() {
  sweeper_.reset();
  Stop(absl::ZeroDuration());
}

void Scheduler::Submit(InferenceRequest request) {
  auto owned = std::make_unique<InferenceRequest>(std::move(request));
  Entry entry;
  entry.waiting.model = owned->model.get();
  entry.waiting.tokens = owned->tokens;
  entry.waiting.pixels = owned->InputPixels() + owned->overlay_pixels;
  entry.waiting.priority = ClassOf(owned->request.priority());
  entry.waiting.cost = owned->ticket.cost();
  entry.waiting.arrival = owned->arrival;
  entry.waiting.deadline = owned->deadline;
  entry.bytes = owned->InputBytes();
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      depth_.requests += 1;
      depth_.bytes += entry.bytes;
      depth_.tokens += entry.waiting.tokens;
      entry.waiting.sequence = next_sequence_++;
      entry.waiting.caller = turns_.Enter(owned->caller);
      Queue& queue = queues_[{owned->model.get(), entry.waiting.caller}][entry.waiting.priority];
      const Order order(entry.waiting.Due(options_), entry.waiting.sequence);
      entry.request = std::move(owned);
      queue.emplace_hint(queue.end(), order, std::move(entry));
    }
  }
  if (owned != nullptr) return owned->Finish(Draining());  // NOLINT(bugprone-use-after-move): null once it waits
  changed_.NotifyOne();
}

std::optional<Batch> Scheduler::NextBatch() {
  for (;;) {
    Batch batch;
    std::vector<Dropped> dropped;
    {
      MutexLock lock(mutex_);
      while (batch.requests.empty() && dropped.empty()) {
        if (stopped_ || (stopping_ && queues_.empty())) return std::nullopt;
        BatchOptions options = options_;
        if (stopping_) options.max_wait = absl::ZeroDuration();
        const absl::Time now = clock_.Now();
        const std::vector<WaitingRequest> front = Front(now);
        const BatchDecision decision = Decide(front, now, options);
        for (const size_t i : decision.cancelled) dropped.push_back({Take(front[i], /*runs=*/false), Cancelled()});
        for (const size_t i : decision.expired) dropped.push_back({Take(front[i], /*runs=*/false), Expired()});
        for (const size_t i : decision.batch) batch.requests.push_back(Take(front[i], /*runs=*/true));
        if (batch.requests.empty() && dropped.empty()) changed_.WaitFor(mutex_, decision.wake - now);
      }
      if (!batch.requests.empty()) batch.id = next_batch_++;
      // Another executor may be waiting for a time that this decision made wrong.
      if (!queues_.empty()) changed_.NotifyOne();
      if (queues_.empty() && stopping_) {
        empty_.NotifyAll();
        changed_.NotifyAll();
      }
    }
    Answer(std::move(dropped));
    if (!batch.requests.empty()) return batch;
  }
}

void Scheduler::Sweep() {
  std::vector<Dropped> dropped;
  {
    MutexLock lock(mutex_);
    if (queues_.empty()) return;
    dropped = TakeDead();
    changed_.NotifyAll();
    if (queues_.empty()) empty_.NotifyAll();
  }
  Answer(std::move(dropped));
}

void Scheduler::Stop(absl::Duration drain) {
  const absl::Time end = SteadyClock().Now() + drain;
  std::vector<Dropped> dropped;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    while (!queues_.empty() && !stopped_ && SteadyClock().Now() < end) {
      empty_.WaitFor(mutex_, end - SteadyClock().Now());
    }
    stopped_ = true;
    dropped = TakeAll();
    changed_.NotifyAll();
    empty_.NotifyAll();
  }
  Answer(std::move(dropped));
}

Scheduler::Depth Scheduler::depth() const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  absl::Time oldest = now;
  for (const auto& [key, queues] : queues_) {
    for (const Queue& queue : queues) {
      for (const auto& [order, entry] : queue) oldest = std::min(oldest, entry.waiting.arrival);
    }
  }
  Depth depth = depth_;
  depth.oldest = now - oldest;
  return depth;
}

std::vector<WaitingRequest> Scheduler::Front(absl::Time now) const {
  std::vector<WaitingRequest> front;
  for (const auto& [key, queues] : queues_) {
    for (const Queue& queue : queues) {
      int images = 0;
      int64_t tokens = 0, pixels = 0;
      for (const auto& [order, entry] : queue) {
        WaitingRequest& waiting = front.emplace_back(entry.waiting);
        waiting.cancelled = entry.request->IsCancelled();
        waiting.given = turns_.given(waiting.caller);
        if (waiting.cancelled || waiting.deadline <= now) continue;
        // This one does not fit, or the next one cannot: enough for Decide to know that the batch is full.
        tokens += waiting.tokens;
        pixels += waiting.pixels;
        if (++images >= options_.max_batch_images || tokens >= options_.max_batch_tokens ||
            pixels >= options_.max_batch_pixels) {
          break;
        }
      }
    }
  }
  return front;
}

std::unique_ptr<InferenceRequest> Scheduler::Take(const WaitingRequest& waiting, bool runs) {
  const auto queues = queues_.find({static_cast<const LoadedModel*>(waiting.model), waiting.caller});
  Queue& queue = queues->second[waiting.priority];
  const auto entry = queue.find(Order(waiting.Due(options_), waiting.sequence));
  depth_.requests -= 1;
  depth_.bytes -= entry->second.bytes;
  depth_.tokens -= entry->second.waiting.tokens;
  std::unique_ptr<InferenceRequest> request = std::move(entry->second.request);
  queue.erase(entry);
  const auto is_empty = [](const Queue& q) { return q.empty(); };
  if (std::all_of(queues->second.begin(), queues->second.end(), is_empty)) queues_.erase(queues);
  if (runs) {
    turns_.Run(waiting.caller, waiting.cost);
  } else {
    turns_.Drop(waiting.caller);
  }
  return request;
}

std::vector<Scheduler::Dropped> Scheduler::TakeDead() {
  const absl::Time now = clock_.Now();
  std::vector<std::pair<WaitingRequest, absl::Status>> dead;
  for (const auto& [key, queues] : queues_) {
    for (const Queue& queue : queues) {
      for (const auto& [order, entry] : queue) {
        if (entry.request->IsCancelled()) {
          dead.emplace_back(entry.waiting, Cancelled());
        } else if (entry.waiting.deadline <= now) {
          dead.emplace_back(entry.waiting, Expired());
        }
      }
    }
  }
  std::vector<Dropped> dropped;
  for (auto& [waiting, status] : dead) dropped.push_back({Take(waiting, /*runs=*/false), std::move(status)});
  return dropped;
}

std::vector<Scheduler::Dropped> Scheduler::TakeAll() {
  std::vector<Dropped> dropped;
  for (auto& [key, queues] : queues_) {
    for (Queue& queue : queues) {
      for (auto& [order, entry] : queue) {
        turns_.Drop(entry.waiting.caller);
        dropped.push_back({std::move(entry.request), GivenUp()});
      }
    }
  }
  queues_.clear();
  depth_ = {};
  return dropped;
}

void Scheduler::Answer(std::vector<Dropped> dropped) const {
  const absl::Time now = clock_.Now();
  for (Dropped& each : dropped) {
    const InferenceRequest& request = *each.request;
    if (request.model->metrics != nullptr && !request.is_probe) {
      request.model->metrics->CountUnanswered(Stage::kQueue, now - request.arrival);
    }
    each.request->Finish(std::move(each.status));
  }
}

}  // namespace vitrine
