// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LOAD_WORKLOAD_ARRIVALS_H_
#define VITRINE_CLIENT_LOAD_WORKLOAD_ARRIVALS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace vitrine {

// A request of a schedule. Its start does not depend on earlier requests.
struct Arrival {
  int64_t due = 0;       // nanoseconds from the start of the load
  uint64_t number = 0;   // counted from 0
  uint32_t request = 0;  // for a trace, index into the workload's requests; else unused
};

// A schedule of requests by ascending time. Not thread-safe.
class Arrivals {
 public:
  virtual ~Arrivals() = default;
  // Returns the next request; nullopt at the end of the schedule. A schedule of ArrivalsAtRate has no end.
  virtual std::optional<Arrival> Next() = 0;
};

enum class ArrivalProcess {
  kPoisson,   // independent clients: gaps are exponentially distributed
  kConstant,  // equal gaps
};

// Returns a schedule of `rate` requests per second, above 0. Equal seeds give equal schedules.
std::unique_ptr<Arrivals> ArrivalsAtRate(ArrivalProcess process, double rate, uint64_t seed);

// Returns a schedule of known arrivals, by ascending time. `arrivals` must outlive it.
std::unique_ptr<Arrivals> ArrivalsOf(const std::vector<Arrival>& arrivals);

// Returns every `lanes`-th arrival of `all`, starting with number `lane`. Lanes can thus share a schedule without
// synchronisation.
std::unique_ptr<Arrivals> LaneOf(std::unique_ptr<Arrivals> all, int lane, int lanes);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LOAD_WORKLOAD_ARRIVALS_H_
