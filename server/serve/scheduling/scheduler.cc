// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/scheduler.h"

#include <algorithm>
#include <span>
#include <utility>

namespace vitrine {
namespace {

// Factor by which a predicted time is reduced in the decision to drop a request, because the prediction may be too high
// by some percent.
constexpr double kSure = 0.8;

// A request is slow, and runs as its own batch (see WaitingRequest::is_slow), only if more than this time is predicted
// for decoding and drawing it.
constexpr absl::Duration kSlow = absl::Milliseconds(10);
// Minimum pixels of a slow request. If a long time is predicted for fewer pixels, the prediction is wrong: a thread
// lost its core for a moment during the measurement.
constexpr int64_t kSlowPixels = int64_t{1} << 18;

// Statuses of requests that end without compute.
struct Ends {
  const absl::Status cancelled = absl::CancelledError("the client cancelled the request; nothing was computed");
  const absl::Status expired =
      absl::DeadlineExceededError("the deadline passed while the request waited; nothing was computed");
  const absl::Status draining = DrainingError();
  const absl::Status late =
      absl::DeadlineExceededError("the answer would have come after the deadline; nothing was computed");
  // Status of admitted requests that still wait when the server ends. Its text differs from the text of a rejection, so
  // that the two cases can be distinguished in logs.
  const absl::Status given_up =
      absl::UnavailableError("the server ended before it computed this request; use another replica");
};

const Ends& End() {
  static const auto& ends = *new Ends;
  return ends;
}

// Calls Begin of the Admission object that admitted the requests. Returns an empty object if none of the requests was
// admitted.
HeldBatch Occupy(std::span<const std::unique_ptr<InferenceRequest>> requests) {
  for (const auto& request : requests) {
    if (request->admitted == nullptr) continue;
    if (Admission* const admission = request->admitted->place.owner()) return admission->Begin(requests);
  }
  return {};
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
  Entry entry;
  entry.waiting.model = request.model.get();
  entry.waiting.tokens = request.tokens;
  entry.waiting.pixels = request.InputPixels() + request.overlay_pixels;
  entry.waiting.priority = ClassOf(request.request.priority());
  if (request.admitted != nullptr) entry.waiting.cost = request.admitted->place->cost;
  entry.waiting.arrival = request.arrival;
  entry.waiting.deadline = request.deadline;
  if (!request.is_probe) {
    const ModelCost& cost = *request.model->cost;
    const absl::Duration compute = cost.PredictBatch(request.tokens);
    const absl::Duration beside = cost.PredictBesideCompute(request.InputPixels(), request.overlay_pixels);
    entry.waiting.least = kSure * (compute + beside);
    entry.waiting.is_slow = entry.waiting.pixels >= kSlowPixels && beside > kSlow && beside > 2 * compute;
  }
  entry.bytes = request.InputBytes();
  entry.request = std::make_unique<InferenceRequest>(std::move(request));
  const bool is_slow = entry.waiting.is_slow;
  if (!Enqueue(entry)) return entry.request->Finish(End().draining);
  changed_.NotifyOne();
  if (is_slow) changed_for_slow_.NotifyOne();
}

bool Scheduler::Enqueue(Entry& entry) {
  MutexLock lock(mutex_);
  if (stopping_) return false;
  WaitingRequest& waiting = entry.waiting;
  waiting.caller = turns_.Enter(entry.request->caller);
  waiting.sequence = next_sequence_++;
  if (depth_.requests == 0) oldest_ = waiting.arrival;
  depth_.requests += 1;
  depth_.bytes += entry.bytes;
  depth_.tokens += waiting.tokens;
  if (waiting.is_slow) {
    ++slow_;
  } else {
    queued_ += waiting.cost;
  }
  if (!(waiting.is_slow && options_.slow_apart) && ForExecutors() > Free())
    recalls_.fetch_add(1, std::memory_order_relaxed);
  const WaitingQueue::Order order = {waiting.Due(options_), waiting.sequence};
  WaitingQueue& queue = queues_[entry.request->model.get()];
  queue.Insert(order, std::move(entry), turns_);
  return true;
}

std::optional<Batch> Scheduler::NextBatch(BatchKind work) {
  for (;;) {
    Batch batch;
    std::vector<Dropped> dropped;
    {
      MutexLock lock(mutex_);
      for (;;) {
        if (work != BatchKind::kSlow && !teams_.empty()) {
          batch.team = std::move(teams_.back());
          teams_.pop_back();
          return batch;
        }
        if (stopped_ || (stopping_ && queues_.empty())) return std::nullopt;
        absl::Duration wait = absl::InfiniteDuration();
        if (work != BatchKind::kSlow || slow_ > 0) TakeDecided(work, batch, dropped, wait);
        if (!batch.requests.empty() || !dropped.empty()) break;
        Await(work, wait);
      }
      if (!batch.requests.empty()) batch.id = next_batch_++;
      // This decision may change how long the other threads must wait, so one of them is woken to decide again.
      if (!queues_.empty()) changed_.NotifyOne();
      if (slow_ > 0) changed_for_slow_.NotifyOne();
      if (queues_.empty() && stopping_) {
        empty_.NotifyAll();
        NotifyAll();
      }
    }
    Answer(std::move(dropped));
    if (batch.requests.empty()) continue;
    if (work != BatchKind::kSlow) batch.running = Occupy(batch.requests);
    return batch;
  }
}

void Scheduler::Await(BatchKind work, absl::Duration wait) {
  if (work == BatchKind::kSlow) {
    ++idle_slow_;
    changed_for_slow_.WaitFor(mutex_, wait);
    --idle_slow_;
    return;
  }
  ++idle_;
  changed_.WaitFor(mutex_, wait);
  --idle_;
}

void Scheduler::TakeDecided(BatchKind work, Batch& batch, std::vector<Dropped>& dropped, absl::Duration& wait) {
  BatchOptions options = options_;
  if (stopping_) options.max_wait = absl::ZeroDuration();
  const absl::Time now = clock_.Now();
  const std::vector<WaitingRequest> front = Front(now, work);
  BatchDecision decision = Decide(front, now, options);
  SplitAmongIdle(front, decision.batch);
  LimitToPart(front, decision.batch);
  for (const size_t i : decision.cancelled) dropped.push_back({End().cancelled, Take(front[i], /*runs=*/false)});
  for (const size_t i : decision.expired) {
    dropped.push_back({front[i].deadline <= now ? End().expired : End().late, Take(front[i], /*runs=*/false)});
  }
  for (const size_t i : decision.batch) batch.requests.push_back(Take(front[i], /*runs=*/true));
  batch.is_slow = !decision.batch.empty() && front[decision.batch.front()].is_slow;
  wait = decision.wake - now;
}

void Scheduler::NotifyAll() {
  changed_.NotifyAll();
  changed_for_slow_.NotifyAll();
}

int64_t Scheduler::SendToTeam(const std::shared_ptr<engine::Team>& team, int64_t most) {
  int64_t sent = 0;
  {
    MutexLock lock(mutex_);
    if (ForExecutors() > 0) return 0;
    const int64_t slow = options_.slow_apart ? options_.executors - idle_slow_ : 0;  // number of slow requests that run
    sent = std::clamp<int64_t>(Free() - slow, 0, most);
    teams_.insert(teams_.end(), static_cast<size_t>(sent), team);
  }
  changed_.NotifyAll();
  return sent;
}

void Scheduler::Sweep() {
  std::vector<Dropped> dropped;
  {
    MutexLock lock(mutex_);
    if (queues_.empty()) return;
    dropped = TakeDead();
    NotifyAll();
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
    NotifyAll();
    while (!queues_.empty() && !stopped_ && SteadyClock().Now() < end) {
      empty_.WaitFor(mutex_, end - SteadyClock().Now());
    }
    stopped_ = true;
    dropped = TakeAll();
    NotifyAll();
    empty_.NotifyAll();
  }
  Answer(std::move(dropped));
}

QueueStatus Scheduler::depth() const {
  const absl::Time now = clock_.Now();
  MutexLock lock(mutex_);
  QueueStatus depth = depth_;
  if (depth.requests > 0) depth.oldest = now - oldest_;
  return depth;
}

int64_t Scheduler::idle() const {
  MutexLock lock(mutex_);
  return Free();
}

int64_t Scheduler::ForExecutors() const {
  return depth_.requests - (options_.slow_apart ? slow_ : 0);
}

int64_t Scheduler::Free() const {
  return std::max<int64_t>(0, idle_ - static_cast<int64_t>(teams_.size()));
}

std::optional<BatchLimits> Scheduler::OwnLimits(const LoadedModel& model) const {
  std::optional<BatchLimits> own = model.queue_limits->batch();
  if (!own.has_value() || *own == options_.Limits()) return std::nullopt;
  if (stopping_) own->max_wait = absl::ZeroDuration();
  return own;
}

std::vector<WaitingRequest> Scheduler::Front(absl::Time now, BatchKind work) {
  std::vector<WaitingRequest> front;
  const bool is_idle = (work == BatchKind::kSlow ? idle_slow_ : idle_) > 0;
  for (auto& [model, queue] : queues_) {
    const FrontOptions options = {
        .batch = options_, .now = now, .own = OwnLimits(*model), .is_idle = is_idle, .work = work};
    queue.AppendFront(options, turns_, front);
  }
  return front;
}

// Reserves one idle executor for each waiting request that is not in `batch`. The calling executor and the idle
// executors that remain share the batch.
void Scheduler::SplitAmongIdle(const std::vector<WaitingRequest>& front, std::vector<size_t>& batch) const {
  const int64_t others = std::max<int64_t>(0, ForExecutors() - static_cast<int64_t>(batch.size()));
  const int64_t executors = 1 + std::max<int64_t>(0, idle_ - others);
  batch.resize(ShareOf(front, batch, executors));
}

void Scheduler::LimitToPart(const std::vector<WaitingRequest>& front, std::vector<size_t>& batch) const {
  if (batch.empty()) return;
  const absl::Duration max_wait = front[batch.front()].own.value_or(options_.Limits()).max_wait;
  if (max_wait > absl::ZeroDuration()) return;  // the model's configuration says to wait for full batches
  batch.resize(PartOf(front, batch, queued_, options_.executors));
}

std::unique_ptr<InferenceRequest> Scheduler::Take(const WaitingRequest& waiting, bool runs) {
  const auto* const model = static_cast<const LoadedModel*>(waiting.model);
  Entry entry = queues_.find(model)->second.Take(waiting, {waiting.Due(options_), waiting.sequence});
  EraseIfEmpty(model);
  depth_.requests -= 1;
  if (waiting.is_slow) --slow_;
  if (depth_.requests == 0) {
    recalls_.store(0, std::memory_order_relaxed);
    queued_ = {};
  } else if (!waiting.is_slow) {
    queued_ -= waiting.cost;
  }
  depth_.bytes -= entry.bytes;
  depth_.tokens -= entry.waiting.tokens;
  if (runs) {
    turns_.Run(waiting.caller, waiting.cost);
  } else {
    turns_.Drop(waiting.caller);
  }
  return std::move(entry.request);
}

void Scheduler::EraseIfEmpty(const LoadedModel* model) {
  const auto queue = queues_.find(model);
  if (queue != queues_.end() && queue->second.empty()) queues_.erase(queue);
}

std::vector<Scheduler::Dropped> Scheduler::TakeDead() {
  const absl::Time now = clock_.Now();
  absl::Time oldest = now;
  std::vector<std::pair<WaitingRequest, absl::Status>> dead;
  for (const auto& [model, queue] : queues_) {
    for (const WaitingQueue::Pending& pending : queue.pending()) {
      if (pending.IsCancelled()) {
        dead.emplace_back(pending.entry->waiting, End().cancelled);
      } else if (pending.deadline <= now) {
        dead.emplace_back(pending.entry->waiting, End().expired);
      } else {
        oldest = std::min(oldest, pending.arrival);
      }
    }
  }
  oldest_ = oldest;
  std::vector<Dropped> dropped;
  dropped.reserve(dead.size());
  for (auto& [waiting, status] : dead) dropped.push_back({std::move(status), Take(waiting, /*runs=*/false)});
  return dropped;
}

std::vector<Scheduler::Dropped> Scheduler::TakeAll() {
  std::vector<Dropped> dropped;
  dropped.reserve(static_cast<size_t>(depth_.requests));
  for (auto& [model, queue] : queues_) {
    for (const WaitingQueue::Pending& pending : queue.pending()) {
      turns_.Drop(pending.entry->waiting.caller);
      dropped.push_back({End().given_up, std::move(pending.entry->request)});
    }
  }
  queues_.clear();
  depth_ = {};
  queued_ = {};
  slow_ = 0;
  recalls_.store(0, std::memory_order_relaxed);
  return dropped;
}

void Scheduler::Answer(std::vector<Dropped> dropped) const {
  const absl::Time now = clock_.Now();
  for (Dropped& each : dropped) each.request->EndWaiting(std::move(each.status), now);
}

}  // namespace vitrine
