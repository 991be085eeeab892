// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_CRASH_STACK_H_
#define VITRINE_SERVER_PROCESS_CRASH_STACK_H_

#include <functional>
#include <memory>

namespace vitrine {

// From here on SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT (so also an exception that nobody catches) write the stack
// of the thread to stderr before they end the process as they would have: same signal, same core dump.
//
// In the handler only what is async-signal-safe happens: the addresses are written as they are. A thread that was made
// here, before anything went wrong, then writes them again with the names of the functions (symbols of the program and
// its libraries, lines where there is debug information), which needs memory and locks that the crash may have taken
// with it; it has eight seconds. A stack that cannot be read, or a report that takes longer than ten seconds, ends the
// process all the same. Call once, from main, before other threads: the main thread gets a CrashHandlerStack.
void PrintStackOnCrash();

// While it lives the thread that made it has a stack of its own for the handler, so that there a stack that has
// overflowed is reported too. Elsewhere such a crash ends the process without a word. Dies on the same thread.
class CrashHandlerStack {
 public:
  CrashHandlerStack();
  CrashHandlerStack(const CrashHandlerStack&) = delete;
  CrashHandlerStack& operator=(const CrashHandlerStack&) = delete;
  ~CrashHandlerStack();

 private:
  const std::unique_ptr<char[]> bytes_;
};

// Calls `run` on a thread that has such a stack: for HttpServerOptions::on_thread.
inline void WithCrashStack(const std::function<void()>& run) {
  const CrashHandlerStack stack;
  run();
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_CRASH_STACK_H_
