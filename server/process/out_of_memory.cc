// SPDX-License-Identifier: Apache-2.0
#include "server/process/out_of_memory.h"

#include <atomic>

#include "server/process/shed.h"

namespace vitrine {
namespace {

std::atomic<int64_t> times = 0;

const absl::Status& Made() {
  static const auto& status = *new absl::Status(
      ShedError(ShedReason::kMemory, "the server has no memory left for this request", absl::Seconds(1)));
  return status;
}

[[maybe_unused]] const absl::Status& at_start = Made();

}  // namespace

const absl::Status& OutOfMemoryError() {
  return Made();
}

void CountOutOfMemory() {
  times.fetch_add(1, std::memory_order_relaxed);
}

int64_t TimesOutOfMemory() {
  return times.load(std::memory_order_relaxed);
}

}  // namespace vitrine
