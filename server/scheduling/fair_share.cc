#include "server/scheduling/fair_share.h"

#include <algorithm>
#include <limits>

namespace vitrine {
namespace {

// When a caller's work has grown to `turn` seconds, of several to as much for each: from then on it counts with that.
double CappedAt(const OtherCaller& other, double turn) {
  const double room = other.callers * turn - absl::ToDoubleSeconds(other.work);
  if (room <= 0) return 0;
  return other.rate > 0 ? room / other.rate : std::numeric_limits<double>::infinity();
}

}  // namespace

absl::Duration WorkAhead(absl::Duration mine, absl::Duration cost, std::vector<OtherCaller> others,
                         absl::Duration batch, int executors) {
  if (others.empty()) return mine;
  const double turn = absl::ToDoubleSeconds(mine + cost);
  std::sort(others.begin(), others.end(),
            [turn](const OtherCaller& a, const OtherCaller& b) { return CappedAt(a, turn) < CappedAt(b, turn); });
  // ahead = mine + sum over the capped of callers * turn + sum over the rest of
  // (work + rate * (ahead / executors + cost)).
  double fixed = absl::ToDoubleSeconds(mine), rates = 0, behind = 0;
  for (const OtherCaller& other : others) {
    const double work = absl::ToDoubleSeconds(other.work);
    fixed += work + other.rate * absl::ToDoubleSeconds(cost);
    rates += other.rate;
    behind += std::max(0.0, work - other.callers * turn);
  }
  const double batch_left = std::min(behind, absl::ToDoubleSeconds(batch));
  for (const OtherCaller& next : others) {
    const double slowed = 1 - rates / executors;
    const double until =
        slowed > 0 ? fixed / slowed / executors + absl::ToDoubleSeconds(cost) : std::numeric_limits<double>::infinity();
    if (until <= CappedAt(next, turn)) break;
    fixed += next.callers * turn - absl::ToDoubleSeconds(next.work) - next.rate * absl::ToDoubleSeconds(cost);
    rates -= next.rate;
  }
  const double slowed = std::max(1 - rates / executors, 1e-9);
  return absl::Seconds(fixed / slowed + batch_left);
}

}  // namespace vitrine
