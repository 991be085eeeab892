// SPDX-License-Identifier: Apache-2.0
#include "tests/models/repository/traced_process.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace vitrine {
namespace {

// Memory shared by parent and child, so that the child can return its answer without a system call.
struct Answer {
  bool complete;
  size_t length;
  char text[4096];

  void Put(const std::string& value) {
    length = std::min(value.size(), sizeof(text));
    std::memcpy(text, value.data(), length);
    complete = true;
  }
};

class SharedAnswer {
 public:
  SharedAnswer()
      : answer_(static_cast<Answer*>(
            mmap(nullptr, sizeof(Answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~SharedAnswer() { munmap(answer_, sizeof(Answer)); }
  Answer* operator->() { return answer_; }
  std::string text() const { return {answer_->text, answer_->length}; }

 private:
  Answer* answer_;
};

// Skips the system call that the stopped child is about to make.
bool Suppress(pid_t child) {
#ifdef __x86_64__
  return ptrace(PTRACE_POKEUSER, child, offsetof(user_regs_struct, orig_rax), -1L) == 0;
#else
  (void)child;
  return false;
#endif
}

void SetResult(pid_t child, int64_t result) {
#ifdef __x86_64__
  ptrace(PTRACE_POKEUSER, child, offsetof(user_regs_struct, rax), result);
#else
  (void)child;
  (void)result;
#endif
}

// Lets the child run from one system call to the next. Returns its exit status.
int Trace(pid_t child, const std::function<Verdict(const SystemCall&)>& before,
          const std::function<void(const SystemCall&, int64_t)>& after) {
  SystemCall call;
  int error = 0;
  int status = 0;
  int signal = 0;
  while (true) {
    ptrace(PTRACE_SYSCALL, child, 0, signal);
    if (waitpid(child, &status, 0) != child || WIFEXITED(status) || WIFSIGNALED(status)) return status;
    signal = 0;
    if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8))) continue;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = WSTOPSIG(status);
      continue;
    }
    __ptrace_syscall_info info = {};
    ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), child, sizeof(info), &info);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      call.number = info.entry.nr;
      std::copy(info.entry.args, info.entry.args + 6, call.arguments);
      const Verdict verdict = before(call);
      if (verdict.kill) kill(child, SIGKILL);
      error = verdict.error != 0 && Suppress(child) ? verdict.error : 0;
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      if (error != 0) SetResult(child, -error);
      after(call, error != 0 ? -error : info.exit.rval);
      error = 0;
    }
  }
}

}  // namespace

ChildResult RunInChild(const std::function<std::string()>& body) {
  SharedAnswer answer;
  const pid_t child = fork();
  if (child == 0) {
    answer->Put(body());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {true, !answer->complete, status, answer.text()};
}

ChildResult RunTraced(const std::function<std::string()>& body, const std::function<Verdict(const SystemCall&)>& before,
                      const std::function<void(const SystemCall&, int64_t)>& after) {
  SharedAnswer answer;
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(errno);
    raise(SIGSTOP);
    answer->Put(body());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return {false, false, status, std::strerror(WEXITSTATUS(status))};
  ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
  const int exit_status = Trace(child, before, after);
  return {true, WIFSIGNALED(exit_status) && WTERMSIG(exit_status) == SIGKILL, exit_status, answer.text()};
}

}  // namespace vitrine
