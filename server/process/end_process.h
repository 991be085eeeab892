// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_END_PROCESS_H_
#define VITRINE_SERVER_PROCESS_END_PROCESS_H_

#include <functional>

#include "absl/time/time.h"

namespace vitrine {

// Exit codes of a process that ends because an executor does not come back, and of one whose device is lost.
constexpr int kExitHung = 3;
constexpr int kExitDevice = 4;

// How long EndProcess waits for last words.
constexpr absl::Duration kLastWords = absl::Seconds(1);

// Calls `say`, which may log, writes out what was logged and ends the process with this exit code, without destructors.
// If `say` does not return, as when nobody reads stderr and other threads hang in it with its lock, the process ends
// all the same after kLastWords. Any thread.
[[noreturn]] void EndProcess(int code, const std::function<void()>& say);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_END_PROCESS_H_
