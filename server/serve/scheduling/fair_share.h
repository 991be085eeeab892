// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace vitrine {

// Fair sharing of the executors: callers take turns by executor time. While several callers wait, each is given the
// same executor time, whatever its requests or priorities; others take what a caller does not use. A single caller has
// everything. Priorities and deadlines order only the requests of one caller.
//
// CallerTurns keeps the account, Decide (batching_policy.h) orders by it, and WorkAhead predicts the result.

// Another caller, or several combined; a combined entry counts for at least as much as separate ones would.
struct OtherCaller {
  absl::Duration work;  // executor time of its waiting requests
  double rate = 0;      // executor seconds that it recently requested per second
  int64_t callers = 1;
};

// Returns the executor time that goes before a request. `mine` is the work of its own caller that goes before it,
// `cost` its own, `batch` the longest batch, `urgent` the executor seconds per second that its caller recently
// requested at a more urgent priority, which overtake it.
//
// When mine + cost of this caller is done, with what has overtaken it, every other caller was given at most as much by
// taking turns, and at most its work in flight and what it sends until then: it counts with the smaller of the two. The
// work sent until then depends on the result; the equation is piecewise linear and solved exactly. A running or forming
// batch is not interrupted, which counts once, up to the work that waits behind. Without other callers and overtaking
// the result is `mine`. Pure; O(n log n).
absl::Duration WorkAhead(absl::Duration mine, absl::Duration cost, std::vector<OtherCaller> others,
                         absl::Duration batch, int executors, double urgent = 0);

// Result of CheckShare. Places (requests or bytes) under a limit are shared by dynamic thresholds (Choudhury and Hahne
// 1998): while callers share, each may hold at most eight times the free places. So one active caller gets eight
// ninths, n greedy ones get equal parts, and a new caller always finds free places.
enum class ShareVerdict { kFits, kFull, kOverShare };
// Returns whether a caller that holds `own` of the `held` places may take `amount` more. With `shared` false the caller
// is the only one and may take everything. A caller that holds nothing may take any free places. Pure.
ShareVerdict CheckShare(int64_t held, int64_t own, int64_t amount, int64_t limit, bool shared);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_
