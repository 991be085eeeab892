// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_WAITING_QUEUE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_WAITING_QUEUE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/serve/scheduling/batching_policy.h"
#include "server/serve/scheduling/caller_turns.h"
#include "server/serve/scheduling/inference_request.h"

namespace vitrine {

// What a batch is chosen for.
struct FrontOptions {
  const BatchOptions& batch;
  absl::Time now;
  std::optional<BatchLimits> own;  // WaitingRequest::own of every request
  bool is_idle = false;            // an executor waits for work: what may be late is tried all the same
  bool without_slow = false;
};

// The requests that wait for one model version, by caller and class. Not thread-safe: the scheduler calls it under its
// lock.
class WaitingQueue {
 public:
  using Order = std::pair<absl::Time, uint64_t>;  // due, sequence
  struct Entry {
    WaitingRequest waiting;
    int64_t bytes = 0;
    std::unique_ptr<InferenceRequest> request;
  };
  // Those of one caller and class.
  using Queue = std::map<Order, Entry>;

  bool empty() const { return callers_.empty(); }

  // Adds an entry whose caller has entered `turns`. Nothing has changed if it throws std::bad_alloc.
  void Insert(Queue::node_type& node, const CallerTurns& turns);
  // Takes out an entry that is there; `order` is its key.
  Entry Take(const WaitingRequest& waiting, const Order& order);

  // Appends the requests that Decide needs to choose the next batch of this model, by the turns of their callers and
  // then in each caller's own order, and stops where the batch is full: O((b + d) log n) for a batch of b and d
  // requests before its last that are in no batch with others, however many callers wait. Of callers that were given
  // the same, the one whose first request is due first comes first. Throws std::bad_alloc.
  void AppendFront(const FrontOptions& options, const CallerTurns& turns, std::vector<WaitingRequest>& front);

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [id, caller] : callers_) {
      for (const Queue& queue : caller.classes) {
        for (const auto& [order, entry] : queue) visit(entry);
      }
    }
  }
  // Takes everything out.
  template <typename Visit>
  void Drain(Visit visit) {
    for (auto& [id, caller] : callers_) {
      for (Queue& queue : caller.classes) {
        for (auto& [order, entry] : queue) visit(entry);
      }
    }
    callers_.clear();
    turns_.clear();
  }

 private:
  // What a caller was given, when its first request is due, and who it is.
  using Turn = std::tuple<absl::Duration, absl::Time, CallerTurns::Id>;
  struct CallerQueues {
    std::array<Queue, kPriorityClasses> classes;
    Turn turn;  // as in turns_
  };
  class Cursor;

  static absl::Time FirstDue(const CallerQueues& caller);
  void SetTurn(CallerQueues& caller, const Turn& turn);
  // The first of turns_ from `turn` on, brought up to date.
  std::set<Turn>::const_iterator Current(std::set<Turn>::const_iterator turn, const CallerTurns& turns);

  std::map<CallerTurns::Id, CallerQueues> callers_;  // each with requests
  // One of each caller. None is above the caller's true turn: what a caller is given and the due time of its first
  // request only grow, but for a request that comes, and Current catches up.
  std::set<Turn> turns_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_WAITING_QUEUE_H_
