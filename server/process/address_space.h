// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_ADDRESS_SPACE_H_
#define VITRINE_SERVER_PROCESS_ADDRESS_SPACE_H_

#include "absl/status/status.h"

namespace vitrine {

// Checks that the limit on virtual memory (ulimit -v) is enough for the stacks of `executors` computing threads and of
// the other threads. RESOURCE_EXHAUSTED names the limit and the required amount. Must be called before these threads
// are started. The check does not include the memory of models.
absl::Status CheckAddressSpace(int executors);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_ADDRESS_SPACE_H_
