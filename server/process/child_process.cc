// SPDX-License-Identifier: Apache-2.0
#include "server/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr int kNiceness = 10;
constexpr size_t kMostLineBytes = size_t{64} << 10;
constexpr int kNoProgram = 127;  // exit code if the program cannot be executed; shells use the same code

// Executes the program, in the forked child. The parent has several threads, so the child may call only
// async-signal-safe functions.
[[noreturn]] void Become(char* const* arguments, int output, pid_t parent) {
  // If the parent ended before prctl, no signal arrives, so the child checks its parent and ends itself.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNoProgram);
  sigset_t none;
  sigemptyset(&none);
  for (const int ignored : {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGXFSZ}) signal(ignored, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setpriority(PRIO_PROCESS, 0, kNiceness);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  // Inherited listening sockets would keep their ports in use. Linux before 5.9 does not have this call; on such a
  // system only the close-on-exec descriptors are closed.
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  execv(arguments[0], arguments);
  _exit(kNoProgram);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  if (access(command[0].c_str(), X_OK) != 0) return FileError(errno, command[0]);
  std::array<int, 2> ends = {};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return FileError(errno, "pipe");
  FileDescriptor reading(ends[0]), writing(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return FileError(errno, absl::StrCat(command[0], " cannot be started"));
  if (pid == 0) Become(arguments.data(), writing.get(), parent);
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, std::move(reading)));
}

ChildProcess::~ChildProcess() {
  Terminate();
  Wait();
}

bool ChildProcess::ReadLine(std::string& line) {
  for (;;) {
    if (const size_t end = read_.find('\n'); end != std::string::npos || read_.size() > kMostLineBytes) {
      line = read_.substr(0, end);
      read_.erase(0, end == std::string::npos ? end : end + 1);
      return true;
    }
    std::array<char, 4096> piece;
    const ssize_t got = read(output_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      line = std::exchange(read_, "");
      return !line.empty();
    }
    read_.append(piece.data(), static_cast<size_t>(got));
  }
}

int ChildProcess::Wait() {
  pid_t pid = 0;
  {
    MutexLock lock(mutex_);
    pid = pid_;
  }
  if (pid == 0) return code_;
  // WNOWAIT keeps the child a zombie until the lock is held, so that Terminate cannot signal a reused process id.
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  MutexLock lock(mutex_);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

void ChildProcess::Terminate() {
  MutexLock lock(mutex_);
  if (pid_ != 0) kill(pid_, SIGTERM);
}

std::string ProgramBeside(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename(name).native();
}

}  // namespace vitrine
