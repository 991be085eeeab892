// SPDX-License-Identifier: Apache-2.0
#include "server/process/memory_shares.h"

#include <algorithm>

namespace vitrine {

int64_t WithinShare(const Machine& machine, int percent, int64_t bytes) {
  if (!machine.memory_limited) return bytes;
  return std::min(bytes, std::max<int64_t>(machine.memory_bytes / 100 * percent, 1));
}

}  // namespace vitrine
