// SPDX-License-Identifier: Apache-2.0
#include "server/process/clock.h"

#include <chrono>

namespace vitrine {
namespace {

class SystemSteadyClock : public Clock {
 public:
  absl::Time Now() const override {
    return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

const Clock& SteadyClock() {
  static const SystemSteadyClock clock;
  return clock;
}

}  // namespace vitrine
