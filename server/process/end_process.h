// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_END_PROCESS_H_
#define VITRINE_SERVER_PROCESS_END_PROCESS_H_

#include <functional>

#include "absl/time/time.h"

namespace vitrine {

// Exit codes when an executor hangs and when the device is lost.
constexpr int kExitHung = 3;
constexpr int kExitDevice = 4;

// Time that `say` has in EndProcess.
constexpr absl::Duration kLastWords = absl::Seconds(1);

// Calls `say`, which may log, flushes the log and ends the process with this exit code, without destructors. Ends it
// after kLastWords even if `say` blocks, as when stderr is not read and another thread holds its lock. Any thread.
[[noreturn]] void EndProcess(int code, const std::function<void()>& say);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_END_PROCESS_H_
