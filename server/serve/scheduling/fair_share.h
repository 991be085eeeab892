// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace vitrine {

// Fair sharing of the executors: callers take turns by executor time. While several callers wait, each gets the same
// executor time, regardless of the number and priorities of its requests. Other callers get the time that a caller does
// not use. A single caller gets all executor time. Priorities and deadlines order only the requests of one caller.
//
// CallerTurns counts the executor time, Decide (batching_policy.h) orders requests by this time, and WorkAhead predicts
// the resulting wait.

// The load of another caller, or of several callers combined. A combined entry counts for at least as much as separate
// entries would.
struct OtherCaller {
  absl::Duration work;  // executor time of its waiting requests
  double rate = 0;      // rate of its recent requests, in executor seconds per second
  int64_t callers = 1;
};

// Returns the executor time that is spent before a request. `mine`: the waiting work of the same caller that runs
// before the request. `cost`: the request's executor time. `batch`: the longest batch. `urgent`: rate of the caller's
// recent, more urgent requests, which overtake the request, in executor seconds per second.
//
// Each other caller counts with the smaller of two times:
// - its turn: `mine` + `cost` + the work that overtakes the request;
// - its waiting work + the work that it sends before the answer. The work that a caller sends before the answer depends
//   on the result, so the function solves a piecewise linear equation.
// A running or forming batch is not interrupted, so the other callers' work beyond their turns also counts, up to
// `batch`. Without other callers and overtaking requests the result is `mine`. Pure function; O(n log n).
absl::Duration WorkAhead(absl::Duration mine, absl::Duration cost, std::vector<OtherCaller> others,
                         absl::Duration batch, int executors, double urgent = 0);

// Result of CheckShare. Requests or bytes under a limit are shared by dynamic thresholds (Choudhury and Hahne 1998):
// while several callers are active, each may have at most eight times the free amount. So one greedy caller gets eight
// ninths of the limit, several greedy callers get equal parts, and a part of the limit always stays free for a new
// caller.
enum class ShareVerdict { kFits, kFull, kOverShare };
// Returns the verdict for a caller that has `own` of the `held` requests or bytes and takes `amount` more. If `shared`
// is false, no other caller is active, and the caller may take everything. A caller that has nothing may take any free
// amount. Pure function.
ShareVerdict CheckShare(int64_t held, int64_t own, int64_t amount, int64_t limit, bool shared);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_
