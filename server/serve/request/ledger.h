// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_LEDGER_H_
#define VITRINE_SERVER_SERVE_REQUEST_LEDGER_H_

#include <atomic>
#include <cstdint>

namespace vitrine {

// Counts accepted requests (a handler has read the request, and may still reject it) and answered requests (the answer
// or error was given to the transport). Each request of a stream is counted separately. Lock-free.
class Ledger {
 public:
  void Accept() { accepted_.fetch_add(1, std::memory_order_relaxed); }
  void Answer() { answered_.fetch_add(1, std::memory_order_release); }

  int64_t accepted() const { return accepted_.load(std::memory_order_relaxed); }
  int64_t answered() const { return answered_.load(std::memory_order_acquire); }
  // Returns the number of accepted requests without an answer. Never negative, because answered() is read first.
  int64_t in_flight() const {
    const int64_t answered_now = answered();
    return accepted() - answered_now;
  }

 private:
  std::atomic<int64_t> accepted_{0};
  std::atomic<int64_t> answered_{0};
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_LEDGER_H_
