// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_HTTP_BODY_ROOM_H_
#define VITRINE_BASE_HTTP_BODY_ROOM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"

namespace vitrine {

// Bytes of the bodies that one server reads or works on. Thread-safe.
struct BodyBytes {
  explicit BodyBytes(int64_t limit) : most(limit) {}
  const int64_t most;
  std::atomic<int64_t> taken = 0;
};

// What one request has of them, until it dies, which may be after the server.
class BodyRoom {
 public:
  explicit BodyRoom(std::shared_ptr<BodyBytes> of) : of_(std::move(of)) {}
  ~BodyRoom() { GiveBack(); }
  BodyRoom(const BodyRoom&) = delete;
  BodyRoom& operator=(const BodyRoom&) = delete;

  // RESOURCE_EXHAUSTED if so many more are not left.
  absl::Status Take(int64_t bytes) {
    if (of_->taken.fetch_add(bytes, std::memory_order_relaxed) + bytes <= of_->most) {
      taken_ += bytes;
      return absl::OkStatus();
    }
    of_->taken.fetch_sub(bytes, std::memory_order_relaxed);
    return absl::ResourceExhaustedError("too many large requests are on their way at once; come back in a moment");
  }
  // At least so many in all.
  absl::Status Hold(int64_t bytes) { return bytes <= taken_ ? absl::OkStatus() : Take(bytes - taken_); }
  void GiveBack() {
    of_->taken.fetch_sub(taken_, std::memory_order_relaxed);
    taken_ = 0;
  }

 private:
  const std::shared_ptr<BodyBytes> of_;
  int64_t taken_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_BASE_HTTP_BODY_ROOM_H_
