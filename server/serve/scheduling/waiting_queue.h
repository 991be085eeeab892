// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_WAITING_QUEUE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_WAITING_QUEUE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/caller_turns.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

// Input of AppendFront.
struct FrontOptions {
  const BatchOptions& batch;
  absl::Time now;
  std::optional<BatchLimits> own;  // WaitingRequest::own, equal for every request of the model
  bool is_idle = false;            // true: an executor is idle, so requests that may be late are tried
  BatchKind work = BatchKind::kAll;
};

// The requests that wait for one model version, by caller and class. Not thread-safe: the scheduler calls it under its
// lock.
class WaitingQueue {
 public:
  using Order = std::pair<absl::Time, uint64_t>;  // due time, then sequence number
  struct Entry {
    WaitingRequest waiting;
    int64_t bytes = 0;
    std::unique_ptr<InferenceRequest> request;
    size_t pending = 0;  // index in the result of pending()
  };
  // The part of an entry that a sweep reads. It is stored separately, because a sweep reads all entries, and the
  // entries themselves are far apart in memory.
  struct Pending {
    Entry* entry;
    absl::Time arrival;
    absl::Time deadline;
    std::array<const std::atomic<bool>*, 2> flags;  // InferenceRequest::cancelled and abandoned; may be null

    bool IsCancelled() const {
      return std::any_of(flags.begin(), flags.end(), [](const std::atomic<bool>* flag) {
        return flag != nullptr && flag->load(std::memory_order_acquire);
      });
    }
  };
  // Requests of one caller and class.
  using Queue = std::map<Order, Entry>;

  bool empty() const { return callers_.empty(); }

  // Inserts an entry with the key `order`. CallerTurns::Enter must have been called for the entry's caller.
  void Insert(const Order& order, Entry entry, const CallerTurns& turns);
  // Removes and returns the entry of `waiting`, which must exist and have the key `order`.
  Entry Take(const WaitingRequest& waiting, const Order& order);

  // Appends the requests that Decide needs to choose the next batch of this model. Their order is by the turns of their
  // callers, then by the order of Decide. Stops when the batch is full. Takes O((b + d) log n): b is the number of
  // requests in the batch; d is the number of requests that run alone or not at all and come before the batch's last
  // request; n is the number of waiting requests. Among callers whose turns have equal starts, the caller with the
  // earliest due request goes first.
  void AppendFront(const FrontOptions& options, const CallerTurns& turns, std::vector<WaitingRequest>& front);

  // Returns all entries, in no particular order.
  const std::vector<Pending>& pending() const { return pending_; }

 private:
  // Start of the caller's turn, due time of its first request, and the caller's id.
  using Turn = std::tuple<absl::Duration, absl::Time, CallerTurns::Id>;
  using Turns = absl::btree_set<Turn>;
  struct CallerQueues {
    std::array<Queue, 2 * kPriorityClasses> queues;  // by class; first quick requests, then slow requests (see QueueOf)
    Turn turn;                                       // the caller's entry in turns_
  };
  class Cursor;

  // Returns the index of the request's queue in CallerQueues::queues.
  static size_t QueueOf(const WaitingRequest& waiting) {
    return static_cast<size_t>(waiting.priority) + (waiting.is_slow ? kPriorityClasses : 0);
  }
  static absl::Time FirstDue(const CallerQueues& caller);
  void SetTurn(CallerQueues& caller, const Turn& turn);
  // Corrects entries of turns_, beginning with `turn`, until it finds an entry that needs no correction. Returns this
  // entry.
  Turns::const_iterator Current(Turns::const_iterator turn, const CallerTurns& turns);

  absl::flat_hash_map<CallerTurns::Id, CallerQueues> callers_;  // callers that have requests
  // One entry per caller. An entry may be below the caller's true turn but never above it, because only Insert can
  // lower the start of the turn or the due time of the first request, and Insert updates the entry. Current corrects
  // entries that are too low.
  Turns turns_;
  std::vector<Pending> pending_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_WAITING_QUEUE_H_
