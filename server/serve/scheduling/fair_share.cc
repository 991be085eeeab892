// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/fair_share.h"

#include <algorithm>
#include <limits>

namespace vitrine {
namespace {

// Maximum of (requests or bytes of a caller) / (free requests or bytes); see ShareVerdict.
constexpr int64_t kFree = 8;

// Returns the time in seconds after which the work of `other` exceeds the total length of its callers' turns; infinite
// if this never happens. The work grows by `other.rate` per second. Each of the callers in `other` has one turn, whose
// length is `turn` and grows by `turn_grows` per second.
double CappedAt(const OtherCaller& other, double turn, double turn_grows) {
  const double room = other.callers * turn - absl::ToDoubleSeconds(other.work);
  if (room <= 0) return 0;
  const double gains = other.rate - other.callers * turn_grows;
  return gains > 0 ? room / gains : std::numeric_limits<double>::infinity();
}

}  // namespace

absl::Duration WorkAhead(absl::Duration mine, absl::Duration cost, std::vector<OtherCaller> others,
                         absl::Duration batch, int executors, double urgent) {
  if (others.empty() && urgent == 0) return mine;
  const double turn = absl::ToDoubleSeconds(mine + cost), own = absl::ToDoubleSeconds(cost);
  const auto capped_at = [=](const OtherCaller& other) { return CappedAt(other, turn, urgent); };
  std::sort(others.begin(), others.end(),
            [&](const OtherCaller& a, const OtherCaller& b) { return capped_at(a) < capped_at(b); });
  // Solves these equations for `ahead`; `overtaking` is the work of the requests that overtake this request.
  //   overtaking = urgent * (ahead / executors + cost)
  //   ahead = mine + overtaking + sum over capped callers of callers * (turn + overtaking)
  //           + sum over other callers of (work + rate * (ahead / executors + cost)).
  double fixed = absl::ToDoubleSeconds(mine) + urgent * own, rates = urgent, behind = 0;
  for (const OtherCaller& other : others) {
    const double work = absl::ToDoubleSeconds(other.work);
    fixed += work + other.rate * own;
    rates += other.rate;
    behind += std::max(0.0, work - other.callers * turn);
  }
  const double batch_left = std::min(behind, absl::ToDoubleSeconds(batch));
  for (const OtherCaller& next : others) {
    const double slowed = 1 - rates / executors;
    const double until = slowed > 0 ? fixed / slowed / executors + own : std::numeric_limits<double>::infinity();
    if (until <= capped_at(next)) break;
    fixed += next.callers * (turn + urgent * own) - absl::ToDoubleSeconds(next.work) - next.rate * own;
    rates += next.callers * urgent - next.rate;
  }
  const double slowed = std::max(1 - rates / executors, 1e-9);
  return absl::Seconds(fixed / slowed + batch_left);
}

ShareVerdict CheckShare(int64_t held, int64_t own, int64_t amount, int64_t limit, bool shared) {
  const int64_t free = limit - held;
  if (amount > free) return ShareVerdict::kFull;
  // A division is used, because a product could overflow: a limit may be as large as its type allows.
  const bool fits = !shared || own == 0 || (own + amount) / kFree < free;
  return fits ? ShareVerdict::kFits : ShareVerdict::kOverShare;
}

}  // namespace vitrine
