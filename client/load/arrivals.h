// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_ARRIVALS_H_
#define VITRINE_CLIENT_LOAD_ARRIVALS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace vitrine {

// When a request is due, whatever became of those before it.
struct Arrival {
  int64_t due = 0;       // nanoseconds from the start of the load
  uint64_t number = 0;   // counted from 0
  uint32_t request = 0;  // of a trace: which of the workload's requests; else unused
};

// A schedule of requests by rising time. One thread.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // The next request; nullopt at the end of the schedule, which that of a rate does not have.
  virtual std::optional<Arrival> Next() = 0;
};

enum class ArrivalProcess {
  kPoisson,   // independent callers: gaps are exponentially distributed
  kConstant,  // one caller with a clock: all gaps are equal
};

// Requires rate > 0 (requests a second). The same seed gives the same schedule.
std::unique_ptr<Arrivals> ArrivalsAtRate(ArrivalProcess process, double rate, uint64_t seed);

// A schedule that is known in advance, by rising time. `arrivals` must outlive it.
std::unique_ptr<Arrivals> ArrivalsOf(const std::vector<Arrival>& arrivals);

// Every `lanes`-th arrival of `all`, beginning with number `lane`: lanes share a schedule without talking to each
// other.
std::unique_ptr<Arrivals> LaneOf(std::unique_ptr<Arrivals> all, int lane, int lanes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_ARRIVALS_H_
