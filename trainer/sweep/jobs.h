// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_JOBS_H_
#define VITRINE_TRAINER_SWEEP_JOBS_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace vitrine {

// A program to run.
struct Job {
  std::vector<std::string> command;  // [0] is the path of the program
  std::filesystem::path log;         // both its output streams are appended here
};

// How a job ended.
struct JobEnd {
  size_t job = 0;  // its number
  int status = 0;  // as waitpid gives it
  absl::Duration took;
};

// "exit code 1", "killed by signal 9 (Killed)".
std::string EndInWords(int status);

struct JobOptions {
  size_t at_once = 1;  // most jobs that run at a time
  // Asked several times a second, and once a signal has interrupted the waiting: 0, or the signal that shall be passed
  // on to the running jobs. No further job is started then, and the running ones are waited for.
  std::function<int()> stop;
  std::function<void(size_t job)> started;
  // Not OK: ends all as SIGTERM does, and is what RunJobs returns.
  std::function<absl::Status(const JobEnd&)> ended;
  std::function<void()> idle;  // called meanwhile, several times a second
};

// Runs all jobs, each in a process (and process group) of its own, so that nothing that one of them does ends the
// others. A job gets SIGTERM when this process dies. Signals that a terminal sends reach this process alone.
//
// CANCELLED after `stop`; UNAVAILABLE where no process can be started. Calls every function on the calling thread,
// which must be the one that lives as long as the process.
absl::Status RunJobs(const std::vector<Job>& jobs, const JobOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_JOBS_H_
