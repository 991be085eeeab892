// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/waiting_queue.h"

#include <algorithm>

namespace vitrine {

// Iterates over the requests of one caller, in the order of Decide.
class WaitingQueue::Cursor {
 public:
  Cursor(const CallerQueues& caller, const TurnTime& turn_time, const FrontOptions& options)
      : options_(&options), turn_time_(turn_time) {
    for (size_t i = 0; i < ranges_.size(); ++i) {
      const Queue& queue = caller.queues[i];
      const BatchKind kind = i < kPriorityClasses ? BatchKind::kQuick : BatchKind::kSlow;
      const bool is_taken = options.work == BatchKind::kAll || options.work == kind;
      ranges_[i] = {is_taken ? queue.begin() : queue.end(), queue.end()};
    }
    Settle();
  }

  // Returns the current request; null at the end.
  const Entry* entry() const { return entry_; }
  absl::Duration turn() const { return turn_time_.start; }
  absl::Time due() const { return entry_->waiting.Due(options_->batch); }

  // Goes to the next request; adds `cost` to the caller's executor time.
  void Advance(absl::Duration cost) {
    turn_time_.Add(cost);
    ++ranges_[QueueOf(entry_->waiting)].first;
    Settle();
  }
  // Counts a request that runs alone or not at all, and returns the count. The count limits the scan of a caller's
  // queue.
  int CountApart() { return ++apart_; }

  // Orders a heap of cursors so that its top has the next request.
  friend bool operator<(const Cursor& a, const Cursor& b) {
    return std::tuple(a.turn(), a.due(), a.entry_->waiting.sequence) >
           std::tuple(b.turn(), b.due(), b.entry_->waiting.sequence);
  }

 private:
  using Range = std::pair<Queue::const_iterator, Queue::const_iterator>;

  void Settle() {
    entry_ = nullptr;
    for (Range& range : ranges_) {
      if (range.first == range.second) continue;
      const Entry& next = range.first->second;
      if (entry_ == nullptr || Rank(next) < Rank(*entry_)) entry_ = &next;
    }
  }
  // Ranks requests of different classes of one caller as Decide does.
  std::tuple<int, absl::Time, uint64_t> Rank(const Entry& entry) const {
    const WaitingRequest& waiting = entry.waiting;
    const bool out_of_patience = waiting.arrival + options_->batch.patience[waiting.priority] <= options_->now;
    return {out_of_patience ? 0 : 1 + waiting.priority, waiting.Due(options_->batch), waiting.sequence};
  }

  const FrontOptions* options_;  // a pointer, so that cursors are assignable
  TurnTime turn_time_;
  int apart_ = 0;
  std::array<Range, 2 * kPriorityClasses> ranges_;
  const Entry* entry_ = nullptr;
};

absl::Time WaitingQueue::FirstDue(const CallerQueues& caller) {
  absl::Time due = absl::InfiniteFuture();
  for (const Queue& queue : caller.queues) {
    if (!queue.empty()) due = std::min(due, queue.begin()->first.first);
  }
  return due;
}

void WaitingQueue::SetTurn(CallerQueues& caller, const Turn& turn) {
  auto node = turns_.extract(caller.turn);
  node.value() = caller.turn = turn;
  turns_.insert(std::move(node));
}

void WaitingQueue::Insert(const Order& order, Entry entry, const CallerTurns& turns) {
  const CallerTurns::Id id = entry.waiting.caller;
  const Turn turn = {turns.time(id).start, order.first, id};
  const auto [caller, is_new] = callers_.try_emplace(id);
  if (is_new) {
    turns_.insert(turn);
    caller->second.turn = turn;
  } else if (turn < caller->second.turn) {
    SetTurn(caller->second, turn);
  }
  Queue& queue = caller->second.queues[QueueOf(entry.waiting)];
  Entry& placed = queue.emplace_hint(queue.end(), order, std::move(entry))->second;
  placed.pending = pending_.size();
  const InferenceRequest& request = *placed.request;
  pending_.push_back({.entry = &placed,
                      .arrival = placed.waiting.arrival,
                      .deadline = placed.waiting.deadline,
                      .flags = {request.cancelled.get(), request.abandoned.get()}});
}

WaitingQueue::Entry WaitingQueue::Take(const WaitingRequest& waiting, const Order& order) {
  const auto caller = callers_.find(waiting.caller);
  Queue& queue = caller->second.queues[QueueOf(waiting)];
  const auto found = queue.find(order);
  const size_t index = found->second.pending;
  pending_[index] = pending_.back();
  pending_[index].entry->pending = index;
  pending_.pop_back();
  Entry entry = std::move(queue.extract(found).mapped());
  const auto is_empty = [](const Queue& each) { return each.empty(); };
  if (std::all_of(caller->second.queues.begin(), caller->second.queues.end(), is_empty)) {
    turns_.erase(caller->second.turn);
    callers_.erase(caller);
  }
  return entry;
}

WaitingQueue::Turns::const_iterator WaitingQueue::Current(Turns::const_iterator turn, const CallerTurns& turns) {
  while (turn != turns_.end()) {
    const Turn seen = *turn;
    const CallerTurns::Id id = std::get<CallerTurns::Id>(seen);
    CallerQueues& caller = callers_.find(id)->second;
    const Turn now = {turns.time(id).start, FirstDue(caller), id};
    if (seen == now) return turn;
    SetTurn(caller, now);
    turn = turns_.lower_bound(seen);
  }
  return turn;
}

void WaitingQueue::AppendFront(const FrontOptions& options, const CallerTurns& turns,
                               std::vector<WaitingRequest>& front) {
  const BatchLimits limits = options.own.value_or(options.batch.Limits());
  std::vector<Cursor> open;  // heap of the callers' cursors
  const auto push = [&](Cursor cursor) {
    if (cursor.entry() == nullptr) return;
    open.push_back(std::move(cursor));
    std::push_heap(open.begin(), open.end());
  };
  const auto comes_first = [&](const Turn& turn) {
    if (open.empty()) return true;
    const Cursor& next = open.front();
    return std::pair(std::get<0>(turn), std::get<1>(turn)) <= std::pair(next.turn(), next.due());
  };
  int images = 0;
  int64_t tokens = 0, pixels = 0;
  for (auto unopened = Current(turns_.begin(), turns);;) {
    while (unopened != turns_.end() && comes_first(*unopened)) {
      const CallerTurns::Id id = std::get<CallerTurns::Id>(*unopened);
      push(Cursor(callers_.find(id)->second, turns.time(id), options));
      unopened = Current(std::next(unopened), turns);
    }
    if (open.empty()) return;
    std::pop_heap(open.begin(), open.end());
    Cursor cursor = std::move(open.back());
    open.pop_back();
    WaitingRequest& waiting = front.emplace_back(cursor.entry()->waiting);
    if (options.is_idle) waiting.least = {};
    waiting.cancelled = cursor.entry()->request->IsCancelled();
    waiting.turn_time = turns.time(waiting.caller);
    waiting.own = options.own;
    const bool is_dead = waiting.cancelled || waiting.deadline <= options.now + waiting.least;
    cursor.Advance(is_dead ? absl::ZeroDuration() : waiting.cost);
    if (is_dead || waiting.is_slow) {
      if (cursor.CountApart() <= limits.max_batch_images) push(std::move(cursor));
      continue;
    }
    push(std::move(cursor));
    tokens += waiting.tokens;
    pixels += waiting.pixels;
    // Stops when a sum reaches its limit. Above the limit, this request does not fit, or fills a batch alone; at the
    // limit, no further request fits. In both cases, Decide finds that the batch is full.
    if (++images >= limits.max_batch_images || tokens >= limits.max_batch_tokens || pixels >= limits.max_batch_pixels) {
      return;
    }
  }
}

}  // namespace vitrine
