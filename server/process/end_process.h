// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_END_PROCESS_H_
#define VITRINE_SERVER_PROCESS_END_PROCESS_H_

#include <functional>

#include "absl/time/time.h"

namespace vitrine {

// Exit codes: kExitHung if an executor hangs, kExitDevice if the device is lost.
constexpr int kExitHung = 3;
constexpr int kExitDevice = 4;

// Time limit in EndProcess for the call of `say` and the flush of the log.
constexpr absl::Duration kLastWords = absl::Seconds(1);

// Calls `say`, which may log, flushes the log and ends the process with this exit code, without destructors. Ends the
// process after kLastWords even if `say` blocks, for example because nobody reads stderr. Thread-safe.
[[noreturn]] void EndProcess(int code, const std::function<void()>& say);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_END_PROCESS_H_
