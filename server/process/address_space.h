// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_ADDRESS_SPACE_H_
#define VITRINE_SERVER_PROCESS_ADDRESS_SPACE_H_

#include "absl/status/status.h"

namespace vitrine {

// Whether a limit of virtual memory (ulimit -v) leaves room for the stacks of so many executors and of the threads
// beside them. RESOURCE_EXHAUSTED says what is missing: gRPC ends the process where it cannot start a thread. What
// models take comes on top.
absl::Status CheckAddressSpace(int executors);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_ADDRESS_SPACE_H_
