// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/jobs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(50);
constexpr int kNoExec = 127;

struct Running {
  size_t job = 0;
  absl::Time since;
};

// Blocks SIGINT and SIGTERM during its lifetime. Otherwise, a signal to the child between fork and exec would run the
// parent's handler in the child, and the signal would be lost.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~SignalsHeld() { Release(); }
  void Release() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Runs the command in the child. Called between fork and exec, where only system calls are allowed.
[[noreturn]] void Become(char* const* command, int log, pid_t parent, const SignalsHeld& held) {
  setpgid(0, 0);
  // If the parent died before the prctl, the child would get no SIGTERM. So the child ends if its parent has changed.
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(kNoExec);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) _exit(kNoExec);
  if (dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0) _exit(kNoExec);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  held.Release();
  execv(command[0], command);
  const char* reason = strerrordesc_np(errno);
  const char text[] = ": the program cannot be started: ";
  (void)!write(STDERR_FILENO, command[0], std::strlen(command[0]));
  (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  (void)!write(STDERR_FILENO, reason, std::strlen(reason));
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(kNoExec);
}

absl::StatusOr<pid_t> Start(const Job& job) {
  const int log = open(job.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log < 0) return absl::UnavailableError(absl::StrCat(job.log.string(), ": ", std::strerror(errno)));
  std::vector<char*> command;
  for (const std::string& part : job.command) command.push_back(const_cast<char*>(part.c_str()));
  command.push_back(nullptr);
  const pid_t parent = getpid();
  const SignalsHeld held;
  const pid_t child = fork();
  if (child == 0) Become(command.data(), log, parent, held);
  const int error = errno;
  if (child > 0) setpgid(child, child);  // parent and child both make this call, since either may run first
  close(log);
  if (child < 0) return absl::UnavailableError(absl::StrCat("no process can be started: ", std::strerror(error)));
  return child;
}

class Pool {
 public:
  Pool(const std::vector<Job>& jobs, const JobOptions& options) : jobs_(jobs), options_(options) {}

  absl::Status Run() {
    while (true) {
      while (status_.ok() && next_ < jobs_.size() && running_.size() < options_.at_once) StartNext();
      if (running_.empty()) return status_;
      const bool ended = CollectEnded();
      if (options_.idle) options_.idle();
      if (const int signal = options_.stop ? options_.stop() : 0; signal != 0) {
        status_.Update(absl::CancelledError("stopped"));
        Pass(signal);
      }
      if (!ended) absl::SleepFor(kPoll);
    }
  }

 private:
  void StartNext() {
    const absl::StatusOr<pid_t> child = Start(jobs_[next_]);
    if (!child.ok()) {
      End(child.status());
      return;
    }
    running_[*child] = {next_, absl::Now()};
    if (options_.started) options_.started(next_);
    ++next_;
  }

  // Returns true if a job ended.
  bool CollectEnded() {
    bool any = false;
    // Calls waitpid for each job, since this process may have other children.
    for (auto it = running_.begin(); it != running_.end();) {
      int status = 0;
      const pid_t got = waitpid(it->first, &status, WNOHANG);
      if (got == 0 || (got < 0 && errno == EINTR)) {
        ++it;
        continue;
      }
      const JobEnd end = {it->second.job, status, absl::Now() - it->second.since};
      it = running_.erase(it);
      any = true;
      if (!options_.ended) continue;
      if (const absl::Status told = options_.ended(end); !told.ok()) End(told);
    }
    return any;
  }

  void End(const absl::Status& status) {
    status_.Update(status);
    Pass(SIGTERM);
  }

  void Pass(int signal) const {
    for (const auto& [child, job] : running_) kill(child, signal);
  }

  const std::vector<Job>& jobs_;
  const JobOptions& options_;
  std::map<pid_t, Running> running_;
  size_t next_ = 0;
  absl::Status status_;
};

}  // namespace

std::string EndInWords(int status) {
  if (WIFSIGNALED(status)) {
    return absl::StrCat("killed by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  }
  return absl::StrCat("exit code ", WEXITSTATUS(status));
}

absl::Status RunJobs(const std::vector<Job>& jobs, const JobOptions& options) {
  return Pool(jobs, options).Run();
}

}  // namespace vitrine
