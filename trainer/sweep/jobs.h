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
  std::vector<std::string> command;  // [0] is the program's path
  std::filesystem::path log;         // stdout and stderr are appended here
};

// Result of a job.
struct JobEnd {
  size_t job = 0;  // index of the job in RunJobs' list
  int status = 0;  // status from waitpid
  absl::Duration took;
};

// Returns for example "exit code 1" or "killed by signal 9 (Killed)".
std::string EndInWords(int status);

struct JobOptions {
  size_t at_once = 1;  // maximum number of parallel jobs
  // Called several times a second. Returns 0, or a signal to forward to the running jobs. After a signal, RunJobs
  // starts no more jobs and waits for the running jobs.
  std::function<int()> stop;
  std::function<void(size_t job)> started;
  // Called when a job has ended. If it returns an error, the other jobs get SIGTERM, and RunJobs returns the error.
  std::function<absl::Status(const JobEnd&)> ended;
  std::function<void()> idle;  // called several times a second
};

// Runs all jobs. Each job is a process in its own process group, so that no job can end another job, and signals from
// the terminal reach only this process. A job gets SIGTERM if this process dies.
//
// CANCELLED if `stop` returned a signal; UNAVAILABLE if no process can be started. Calls the functions of `options` on
// the calling thread.
absl::Status RunJobs(const std::vector<Job>& jobs, const JobOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_JOBS_H_
