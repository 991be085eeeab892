// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/out_of_memory.h"

#include <unistd.h>

#include <atomic>
#include <new>

namespace vitrine {
namespace {

// Returns the line that End writes. The string is never destroyed, because other threads may still run when static
// objects are destroyed.
std::string& Line() {
  static auto& line = *new std::string;
  return line;
}

// Writes the line and ends the process, without allocating memory. If two threads call End, the second waits until the
// first ends the process.
[[noreturn]] void End() {
  static std::atomic_flag is_ending;
  while (is_ending.test_and_set()) pause();
  (void)!write(STDERR_FILENO, Line().data(), Line().size());
  _exit(kExitOutOfMemory);
}

}  // namespace

void EndWhenOutOfMemory(const std::string& program) {
  Line() = program +
           ": out of memory; raise the limit (ulimit -v, ulimit -d) or the machine's memory, or use smaller images, "
           "batches or models\n";
  std::set_new_handler(End);
}

}  // namespace vitrine
