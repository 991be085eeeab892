// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/answer_time.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/process/shed.h"
#include "server/serve/scheduling/recent_work.h"
#include "server/serve/scheduling/running_batches.h"

namespace vitrine {
namespace {

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration), " ms");
}

// Returns the error for a request that would miss its limit only because of other callers.
absl::Status RejectAmong(const std::vector<OtherCaller>& others, absl::Duration completion, absl::Duration limit,
                         const std::string& longer) {
  int64_t callers = 1;
  for (const OtherCaller& other : others) callers += other.callers;
  return ShedError(ShedReason::kShare,
                   absl::StrCat("the server is busy with ", callers,
                                " callers: in turn with the others the answer would take about ",
                                Milliseconds(completion), ", ", longer),
                   completion - limit);
}

// Returns the time until the rate of urgent requests has decayed enough to admit this request. Assumes that the caller
// sends no further urgent requests.
absl::Duration RetryAfterDecay(const NewRequest& request, const std::vector<OtherCaller>& others) {
  absl::Duration retry = absl::Milliseconds(10);
  while (retry < RecentWork::kForgottenAfter &&
         PredictAnswerTime(request, others, request.urgent * RecentWork::Decay(retry)) > request.limit) {
    retry *= 2;
  }
  return retry;
}

}  // namespace

absl::Duration PredictAnswerTime(const NewRequest& request, const std::vector<OtherCaller>& others, double urgent) {
  const int executors = request.executors;
  absl::Duration ahead = WorkAhead(request.mine, request.cost, others, request.batch, executors, urgent);
  if (urgent > 0) {  // more urgent requests can overtake this request until its patience ends
    const absl::Duration overtaking = urgent * request.patience;
    ahead = std::min(ahead, WorkAhead(request.mine + overtaking, request.cost, others, request.batch, executors));
  }
  // For a running batch, the prediction includes its whole time, also the part that has passed. But the running batches
  // together count for at most as much time as the work ahead. The prediction is high on purpose: a low prediction
  // wastes executor time, while a high prediction only rejects a request.
  const absl::Duration whole = (ahead + std::min(ahead, request.running)) / executors;
  return std::max(TimeUntilDone(ahead, request.left, executors), whole) + request.cost;
}

absl::Status CheckAnswerTime(const NewRequest& request, const OtherCaller& all_others,
                             absl::FunctionRef<std::vector<OtherCaller>()> others) {
  const absl::Duration limit = request.limit;
  const absl::Duration allowed = std::max(limit, request.cost);  // a request is never rejected for its own cost
  // In the usual case the prediction with `all_others` is enough, and its cost does not depend on the number of
  // callers.
  if (PredictAnswerTime(request, {all_others}, request.urgent) <= allowed) return absl::OkStatus();
  const std::vector<OtherCaller> each = others();
  const absl::Duration completion = PredictAnswerTime(request, each, request.urgent);
  if (completion <= allowed) return absl::OkStatus();
  const std::string longer =
      absl::StrCat("longer than ", request.has_deadline
                                       ? absl::StrCat("the ", Milliseconds(limit), " that its deadline leaves for it")
                                       : absl::StrCat("its limit of ", Milliseconds(limit)));
  if (PredictAnswerTime(request, {}, request.urgent) <= limit) return RejectAmong(each, completion, limit, longer);
  const ShedReason reason = request.has_deadline ? ShedReason::kDeadline : ShedReason::kWait;
  const absl::Duration of_what_is_here = PredictAnswerTime(request, each, 0);
  if (of_what_is_here > limit) {
    return ShedError(
        reason,
        absl::StrCat("the server is busy: the answer would take about ", Milliseconds(of_what_is_here), ", ", longer),
        of_what_is_here - limit);
  }
  return ShedError(reason,
                   absl::StrCat("the server is busy: at their recent rate, more urgent requests of this caller would "
                                "keep overtaking this one for ",
                                longer),
                   RetryAfterDecay(request, each));
}

}  // namespace vitrine
