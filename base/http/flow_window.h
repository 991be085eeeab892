// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_FLOW_WINDOW_H_
#define VITRINE_BASE_HTTP_FLOW_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace vitrine {

// Chooses HTTP/2's flow control window by the connection's bandwidth times its delay: a PING goes out while data comes;
// where half a window or more has come by the time of its answer, the window is what holds the sender back, and is made
// four times as large. What came before the PING does not count: an eighth of the window, and as much as was read at
// once. Thread-compatible.
class FlowWindow {
 public:
  static constexpr int32_t kFirst = 4 << 20;  // as gRPC's
  static constexpr int32_t kLargest = 64 << 20;

  // Data has come. True: a PING is to be sent now.
  bool OnData(int64_t bytes) {
    received_ += bytes;
    if (is_probing_ || window_ >= kLargest || received_ < window_ / 8) return false;
    is_probing_ = true;
    received_ = 0;
    return true;
  }

  // The PING was answered. The new window, where it grows.
  std::optional<int32_t> OnAnswer() {
    if (!is_probing_) return std::nullopt;
    is_probing_ = false;
    const bool is_bound = received_ >= window_ / 2;
    received_ = 0;
    if (!is_bound) return std::nullopt;
    window_ = std::min(window_ * 4, kLargest);
    return window_;
  }

  int32_t window() const { return window_; }

 private:
  int32_t window_ = kFirst;
  int64_t received_ = 0;  // since the PING, or since its answer
  bool is_probing_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_FLOW_WINDOW_H_
