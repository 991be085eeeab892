// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_STATUS_H_
#define VITRINE_SERVER_PAGES_STATUS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/identity/caller.h"
#include "server/models/registry/device.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"

namespace vitrine {

// Everything that /statusz shows. Rates are of the last minute.
struct ServerStatus {
  struct Version {
    std::string model = {};
    int64_t version = 0;      // or kWholeModel
    std::string state = {};   // READY, ...
    std::string reason = {};  // why it is FAILED or RETIRING
    double traffic_percent = 0;
    std::vector<std::string> labels = {};
    int64_t bytes = 0;  // of its weights
    double requests_per_second = 0;
    double errors_per_second = 0;  // of these, not answered OK
    double faults_per_second = 0;  // of these, by the server's fault: INTERNAL, UNKNOWN, DATA_LOSS
  };
  struct Model {
    std::string name = {};
    // Since the start, refused ones included; and what was computed.
    uint64_t requests = 0;
    uint64_t batches = 0;
    double requests_per_second = 0;  // refused ones included
    double shed_per_second = 0;
    // Since the start: canaries taken out of traffic by their guard, versions rolled back by operators.
    uint64_t rollbacks = 0;
    uint64_t operator_rollbacks = 0;
    double rollbacks_per_second = 0;  // those by the guard
  };
  struct Executor {
    double busy_ratio = 0;
    absl::Duration batch_age = {};  // of the running batch; zero while it waits for one
  };

  std::string not_ready;         // empty while requests are served, else why not
  std::string repository_fault;  // empty while the repository can be read; else as Registry::repository_status
  absl::Time now, started;       // wall clock
  std::string version, revision;
  Compute compute;
  MachineLimits machine;  // zeros where nobody knows
  std::vector<Model> models;
  std::vector<Version> versions;
  std::vector<Executor> executors;
  QueueStatus queue;
  AdmissionStatus admission;
  AnswerStatus answers;
  std::vector<std::pair<std::string, absl::Time>> certificates;  // listener, end of its certificate
  std::vector<LogLine> log;                                      // warnings and errors, the newest first
  std::vector<std::pair<std::string, std::string>> flags;        // in force; no secrets
};

// The mean over the executors; 0 without any.
double BusyRatio(const std::vector<ServerStatus::Executor>& executors);

enum class Severity { kOk, kDegraded, kDown };
struct Problem {
  Severity severity = Severity::kDegraded;
  std::string sentence = {};  // may hold anybody's words
};

// What is wrong, the worst first. Pure.
std::vector<Problem> FindProblems(const ServerStatus& status);
// One sentence for somebody who was just woken up.
Problem Verdict(const ServerStatus& status);

// What somebody may see who calls and does not operate: of their models alone, without the log and the flags.
ServerStatus ShownTo(const Caller& caller, ServerStatus status);

// An object with "verdict" first, "severity", "problems" and the parts of ServerStatus, a line for each value: read by
// programs, the page of the HTTP port, and people with curl.
std::string StatusJson(const ServerStatus& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_STATUS_H_
