// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/patience.h"

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

constexpr absl::Duration kFirstWait = absl::Milliseconds(200);
constexpr absl::Duration kLongestBatchWait = absl::Seconds(5);

}  // namespace

absl::Duration Patience::NextWait() {
  const absl::Duration wait = std::min(kFirstWait * std::exp2(waits_), kLongestBatchWait);
  ++waits_;
  return wait * absl::Uniform(random_, 0.5, 1.0);
}

}  // namespace vitrine
