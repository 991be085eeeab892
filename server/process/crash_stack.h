// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_CRASH_STACK_H_
#define VITRINE_SERVER_PROCESS_CRASH_STACK_H_

#include <functional>
#include <memory>

namespace vitrine {

// Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT; an uncaught exception raises SIGABRT. The handlers
// write the crashed thread's stack to stderr; then the process ends with the same signal and core dump as without these
// handlers. The handler is async-signal-safe: it writes only the addresses. A thread that is created here in advance
// then writes the function names, and the lines if there is debug information. This thread may need a lock that the
// crashed thread holds, so the handler waits at most eight seconds for the names. If the stack cannot be read, or the
// report takes longer than ten seconds, the process still ends. Call once, from main, before other threads start. The
// main thread gets a CrashHandlerStack. If the system allows no second thread, no handler is installed.
void PrintStackOnCrash();

// Gives the thread that creates it a separate stack for the handler, so that a stack overflow is reported. Without this
// stack, an overflow ends the process without a report. Destroy it on the same thread.
class CrashHandlerStack {
 public:
  CrashHandlerStack();
  CrashHandlerStack(const CrashHandlerStack&) = delete;
  CrashHandlerStack& operator=(const CrashHandlerStack&) = delete;
  ~CrashHandlerStack();

 private:
  const std::unique_ptr<char[]> bytes_;
};

// Calls `run`. The calling thread has a CrashHandlerStack during the call. For use as HttpServerOptions::on_thread.
inline void WithCrashStack(const std::function<void()>& run) {
  const CrashHandlerStack stack;
  run();
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_CRASH_STACK_H_
