// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_OUT_OF_MEMORY_H_
#define VITRINE_COMMON_COMMAND_LINE_OUT_OF_MEMORY_H_

#include <string>

namespace vitrine {

// Exit code of a program that ran out of memory.
inline constexpr int kExitOutOfMemory = 5;

// Sets a std::new_handler that writes "<program>: out of memory; ..." to stderr and at once ends the process with
// kExitOutOfMemory. After a failed `new`, no destructors and no exit handlers run. Failed allocations of C libraries
// and LibTorch do not call the handler. Call EndWhenOutOfMemory before other threads start.
void EndWhenOutOfMemory(const std::string& program);

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_OUT_OF_MEMORY_H_
