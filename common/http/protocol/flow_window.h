// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_HTTP_PROTOCOL_FLOW_WINDOW_H_
#define VITRINE_COMMON_HTTP_PROTOCOL_FLOW_WINDOW_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace vitrine {

// Sizes the HTTP/2 flow control window to the connection's bandwidth-delay product. Each time an eighth of the window
// has arrived, a PING is sent. If at least half a window arrives between the PING and its answer, the window limits the
// sender and is quadrupled. Thread-compatible.
class FlowWindow {
 public:
  static constexpr int32_t kFirst = 4 << 20;  // initial window in bytes, as in gRPC
  static constexpr int32_t kLargest = 64 << 20;

  // Counts received data. Returns true if a PING must be sent now.
  bool OnData(int64_t bytes) {
    received_ += bytes;
    if (is_probing_ || window_ >= kLargest || received_ < window_ / 8) return false;
    is_probing_ = true;
    received_ = 0;
    return true;
  }

  // Handles the answer to the PING. Returns the new window if it grows.
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
  int64_t received_ = 0;  // bytes since the last PING or its answer
  bool is_probing_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_HTTP_PROTOCOL_FLOW_WINDOW_H_
