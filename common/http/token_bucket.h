// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_TOKEN_BUCKET_H_
#define VITRINE_COMMON_HTTP_TOKEN_BUCKET_H_

#include <algorithm>
#include <chrono>

namespace vitrine {

// A rate limit: stores at most `burst` points, and gains `rate` points per second. Thread-compatible.
class TokenBucket {
 public:
  using Time = std::chrono::steady_clock::time_point;

  TokenBucket(double burst, double rate, Time now) : burst_(burst), rate_(rate), points_(burst), last_(now) {}

  // Takes points. The balance never falls below minus `burst`. Returns false if the balance is negative afterwards.
  bool Take(double points, Time now) {
    Refill(now);
    points_ = std::max(points_ - points, -burst_);
    return points_ >= 0;
  }
  // Returns the points left as a share of the burst, at most 1.
  double Share(Time now) {
    Refill(now);
    return points_ / burst_;
  }
  // Reduces the points to at most `share` of the burst.
  void Cap(double share) { points_ = std::min(points_, burst_ * share); }

 private:
  void Refill(Time now) {
    if (now <= last_) return;
    points_ = std::min(burst_, points_ + rate_ * std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

  double burst_;
  double rate_;
  double points_;
  Time last_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_TOKEN_BUCKET_H_
