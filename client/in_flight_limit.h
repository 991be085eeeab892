// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_IN_FLIGHT_LIMIT_H_
#define VITRINE_CLIENT_IN_FLIGHT_LIMIT_H_

#include <cstdint>

#include "absl/time/time.h"

namespace vitrine {

// How many requests a server shall have at a time: as many as it answers faster for, and no more.
//
// Answers are counted in windows. While a higher limit brings a higher rate it rises, by a quarter and at least by one;
// a rise that brings less than 3 % is taken back and tried again some windows later, for servers change. A refusal
// because of overload, or no answer in time, halves the limit, once for all requests that were sent before. Pure but
// for what it was told; not thread-safe.
class InFlightLimit {
 public:
  // Never above `most`, which is at least 1.
  explicit InFlightLimit(int most, int first = 4);

  int limit() const { return limit_; }
  // An answer came at `now` while `in_flight` requests were with the server, itself among them.
  void OnAnswer(int in_flight, absl::Time now);
  // The server had no room at `now` for a request sent at `sent`, or no answer until then.
  void OnOverload(absl::Time sent, absl::Time now);

 private:
  void BeginWindow(absl::Time now);
  void EndWindow(double rate);

  const int most_;
  int limit_;
  int before_ = 0;          // the limit before the rise that is being tried; 0: none is
  double rate_before_ = 0;  // answers per second under it
  int rest_ = 0;            // windows until the next rise
  absl::Time halved_ = absl::InfinitePast();

  absl::Time window_ = absl::InfinitePast();  // its beginning; never: at the next answer
  int64_t answers_ = 0;                       // in it
  bool full_ = false;                         // the limit was reached in it
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_IN_FLIGHT_LIMIT_H_
