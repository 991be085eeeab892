// SPDX-License-Identifier: Apache-2.0
#include "server/process/crash_stack.h"

#define BACKWARD_HAS_DW 1
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <backward.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

namespace vitrine {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kMostFrames = 64;
constexpr int kNamesTimeoutMs = 8000;
// Time limit of the report. The report can block if nobody reads stderr, or if it needs a lock that the crashed thread
// holds.
constexpr unsigned kLongestReportSeconds = 10;
constexpr size_t kHandlerStackBytes = size_t{64} << 10;

// Data that the handler passes to the thread that writes the function names. The handler writes the data once, before
// it writes the byte to the pipe `begin`.
struct Crash {
  std::atomic<pid_t> thread = 0;  // first thread that crashed
  volatile sig_atomic_t signal = 0;
  void* frames[kMostFrames] = {};
  int depth = 0;
  int begin[2] = {-1, -1};  // pipe: a byte means that `frames` is complete
  int end[2] = {-1, -1};    // pipe: a byte means that the names were written
};
Crash g_crash;

// Writes text to stderr. Async-signal-safe.
void Write(const char* text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
}

void WriteNumber(uint64_t value, unsigned base) {
  char digits[32];
  char* at = digits + sizeof(digits) - 1;
  *at = '\0';
  do {
    *--at = "0123456789abcdef"[value % base];
  } while ((value /= base) != 0);
  Write(at);
}

void WriteNames() {
  backward::TraceResolver resolver;
  std::string text;
  for (int i = 0; i < g_crash.depth; ++i) {
    // A return address is the address after a call, which may belong to the next function, so 1 is subtracted.
    void* const call = static_cast<char*>(g_crash.frames[i]) - (i == 0 ? 0 : 1);
    const backward::ResolvedTrace frame = resolver.resolve(backward::ResolvedTrace(backward::Trace(call, i)));
    const std::string& function = frame.source.function.empty() ? frame.object_function : frame.source.function;
    text = "crash: #" + std::to_string(i) + " " + (function.empty() ? "?" : function) + " in " + frame.object_filename;
    if (!frame.source.filename.empty())
      text += " at " + frame.source.filename + ":" + std::to_string(frame.source.line);
    text += "\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
  }
}

[[noreturn]] void AwaitCrash() {
  char byte = 0;
  while (read(g_crash.begin[0], &byte, 1) != 1) {
  }
  WriteNames();
  (void)!write(g_crash.end[1], &byte, 1);
  for (;;) pause();
}

// Ends the process by the signal's default action. The default action has no effect on the first process of a
// container, so this process then exits with the status that a shell would report.
[[noreturn]] void EndBySignal(int signal) {
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  sigaction(signal, &by_default, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  _exit(128 + signal);
}

void OnAlarm(int) {
  EndBySignal(g_crash.signal);
}

void LimitReport() {
  struct sigaction action = {};
  action.sa_handler = OnAlarm;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGALRM, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  alarm(kLongestReportSeconds);
}

void OnSignal(int signal, siginfo_t*, void*) {
  pid_t first = 0;
  if (!g_crash.thread.compare_exchange_strong(first, gettid())) {
    // The handler itself crashed, so the stack is corrupt.
    if (first == gettid()) {
      Write("\ncrash: the stack cannot be read\n");
      EndBySignal(g_crash.signal);
    }
    // Another thread reports and ends the process; this thread must not return to the faulting code.
    for (;;) pause();
  }
  g_crash.signal = signal;
  LimitReport();
  Write("crash: signal ");
  WriteNumber(static_cast<uint64_t>(signal), 10);
  Write(" in thread ");
  WriteNumber(static_cast<uint64_t>(gettid()), 10);
  g_crash.depth = backtrace(g_crash.frames, kMostFrames);
  Write("; addresses:");
  for (int i = 0; i < g_crash.depth; ++i) {
    Write(" 0x");
    WriteNumber(reinterpret_cast<uint64_t>(g_crash.frames[i]), 16);
  }
  Write("\n");
  const char byte = 0;
  (void)!write(g_crash.begin[1], &byte, 1);
  pollfd named = {.fd = g_crash.end[0], .events = POLLIN, .revents = 0};
  if (poll(&named, 1, kNamesTimeoutMs) <= 0) Write("crash: the names of the functions could not be found in time\n");
  EndBySignal(signal);
}

}  // namespace

CrashHandlerStack::CrashHandlerStack() : bytes_(new char[kHandlerStackBytes]) {
  const stack_t stack = {.ss_sp = bytes_.get(), .ss_flags = 0, .ss_size = kHandlerStackBytes};
  sigaltstack(&stack, nullptr);
}

CrashHandlerStack::~CrashHandlerStack() {
  const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

void PrintStackOnCrash() {
  if (pipe2(g_crash.begin, O_CLOEXEC) != 0 || pipe2(g_crash.end, O_CLOEXEC) != 0) return;
  // The first call loads libgcc, which must not happen in the handler.
  void* warm[1];
  backtrace(warm, 1);
  try {
    std::thread(AwaitCrash).detach();
  } catch (const std::system_error&) {
    return;  // the system allows the process no second thread
  }

  static auto& stack = *new CrashHandlerStack;  // stack for the main thread; never destroyed
  (void)stack;
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace vitrine
