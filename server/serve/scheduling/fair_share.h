// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace vitrine {

// How callers share the executors. The rule: callers take turns by executor time. While several wait, each is given the
// same executor time, whatever it asks for, whatever priority it claims; what one does not want the others take. A
// caller that is alone has everything. Priorities and deadlines order the requests of one caller.
//
// CallerTurns keeps the account, Decide (batching_policy.h) orders by it, and WorkAhead predicts what it comes to.

// Another caller, as the one that asks sees it; or several that are looked at together, which may count with more than
// they would one by one and never with less.
struct OtherCaller {
  absl::Duration work;  // executor time of what waits of it
  double rate = 0;      // executor seconds that it asks for in a second, of late
  int64_t callers = 1;
};

// Executor time that goes before a request. `mine` is the work of its own caller that goes before it, `cost` its own,
// `batch` the longest batch, `urgent` the executor seconds that its caller asks for in a second, of late, with a more
// urgent priority: they overtake it.
//
// By the time that mine + cost of this caller is done, and what has overtaken it, taking turns has given no other
// caller more than that, and none more than it has in flight and will ask for until then: each counts with the smaller
// of the two. What is asked for until then depends on the answer; the equation is piecewise linear and solved exactly.
// A batch that is running or forming is not interrupted, which counts once, as far as there is such work. Alone (no
// others) and not overtaken the answer is `mine`. Pure; O(n log n).
absl::Duration WorkAhead(absl::Duration mine, absl::Duration cost, std::vector<OtherCaller> others,
                         absl::Duration batch, int executors, double urgent = 0);

// How they share places (requests, or bytes), which are taken out of a limited number, with dynamic thresholds
// (Choudhury and Hahne 1998): where callers share, each may hold at most eight times what is free. One of them alone so
// gets eight ninths, n greedy ones equal parts, and whoever comes next always finds something free.
enum class ShareVerdict { kFits, kFull, kOverShare };
// Whether a caller that holds `own` of the `held` places may take `amount` more. `shared` false: one caller is all
// there is, and may take everything. Who holds nothing may always take what there is. Pure.
ShareVerdict CheckShare(int64_t held, int64_t own, int64_t amount, int64_t limit, bool shared);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_FAIR_SHARE_H_
