// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_IN_FLIGHT_LIMIT_H_
#define VITRINE_CLIENT_LIB_IN_FLIGHT_LIMIT_H_

#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// Adaptive limit of requests in flight. It seeks the smallest limit that gives the server's full throughput.
//
// The rate of answers is measured in windows of time. After each window, the limit rises by a quarter (at least by one)
// as long as a rise increases the rate. A rise that gains less than 3 % is reverted, and is tried again some windows
// later, because the server's load may have changed. A rejection for overload or a late answer halves the limit, unless
// the request was sent before the last halving. Deterministic; not thread-safe.
class InFlightLimit {
 public:
  // The limit starts at `first` and never exceeds `most`. Requires most >= 1.
  explicit InFlightLimit(int most, int first = 4);

  int limit() const { return limit_; }
  // Records an answer at `now`. `in_flight`: number of requests at the server before this answer.
  void OnAnswer(int in_flight, absl::Time now);
  // Records at `now` that a request sent at `sent` was rejected for overload, or was not answered in time.
  void OnOverload(absl::Time sent, absl::Time now);

 private:
  void BeginWindow(absl::Time now);
  void EndWindow(double rate);

  const int most_;
  int limit_;
  int before_ = 0;          // limit before the rise that this window tests; 0: this window tests no rise
  double rate_before_ = 0;  // answers per second at the limit before_
  int rest_ = 0;            // windows until the next rise
  absl::Time halved_ = absl::InfinitePast();

  absl::Time window_ = absl::InfinitePast();  // start of the window; InfinitePast: the next answer sets it
  int64_t answers_ = 0;                       // answers in the window
  bool full_ = false;                         // true if the limit was reached in the window
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_IN_FLIGHT_LIMIT_H_
