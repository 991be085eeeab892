// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PAGES_STATUS_H_
#define VITRINE_SERVER_PAGES_STATUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/http/server.h"
#include "server/identity/caller.h"
#include "server/observe/log.h"
#include "server/observe/metrics.h"
#include "server/registry/device.h"

namespace vitrine {

// Contents of /statusz. Rates are over the last minute.
struct ServerStatus {
  struct Version {
    std::string model = {};
    int64_t version = 0;      // version number, or kWholeModel
    std::string state = {};   // state of the version: READY, ...
    std::string reason = {};  // reason for the state, as in VersionStatus::reason
    double traffic_percent = 0;
    std::vector<std::string> labels = {};
    int64_t bytes = 0;  // size of the version's weights
    double requests_per_second = 0;
    double errors_per_second = 0;  // requests not answered OK; included in requests_per_second
    double faults_per_second = 0;  // requests answered INTERNAL, UNKNOWN or DATA_LOSS; included in requests_per_second
  };
  struct Model {
    std::string name = {};
    // Counts since the start. `requests` includes rejected requests; `batches` are computed batches.
    uint64_t requests = 0;
    uint64_t batches = 0;
    double requests_per_second = 0;  // rate of all requests, including rejected requests
    double shed_per_second = 0;
    // Counts since the start: canaries that their guard removed from traffic, and rollbacks by operators.
    uint64_t rollbacks = 0;
    uint64_t operator_rollbacks = 0;
    double rollbacks_per_second = 0;  // rate of rollbacks by the canary guard
  };
  // An open connection of a client. `listener`: "grpc" or "http", as in the metrics of connections.
  struct Connection {
    std::string listener = {};
    HttpConnectionStatus state = {};
  };
  struct Executor {
    double busy_ratio = 0;
    absl::Duration batch_age = {};  // age of the running batch; zero if idle
  };

  std::string not_ready;         // reason why requests are not served; empty if requests are served
  std::string repository_fault;  // error of Registry::repository_status; empty if the repository is readable
  // Reasons why settings files are rejected; each begins with the flag and the path.
  std::vector<std::string> rejected_settings;
  absl::Time now, started;  // wall-clock times
  std::string version, revision;
  Compute compute;
  MachineLimits machine;  // zeros if unknown
  std::vector<Model> models;
  std::vector<Version> versions;
  std::vector<Executor> executors;
  int64_t open_connections = 0;         // number of open connections of clients
  std::vector<Connection> connections;  // the largest of these connections; see HttpServer::Describe
  std::optional<DeviceStatus> device;   // empty on a CPU, or if the device cannot be reached
  QueueStatus queue;
  AdmissionStatus admission;
  AnswerStatus answers;
  std::vector<std::pair<std::string, absl::Time>> certificates;  // listener and the expiry of its certificate
  std::vector<LogLine> log;                                      // warnings and errors, newest first
  std::vector<std::pair<std::string, std::string>> flags;        // effective values; they contain no secrets
};

// Returns the mean busy_ratio of the executors; 0 if there are no executors.
double BusyRatio(const std::vector<ServerStatus::Executor>& executors);

enum class Severity { kOk, kDegraded, kDown };
struct Problem {
  Severity severity = Severity::kDegraded;
  std::string sentence = {};  // sentence for people; may quote text from clients or files
};

// Returns all problems, worst first. Pure function.
std::vector<Problem> FindProblems(const ServerStatus& status);
// Returns a one-sentence summary for the operator on call.
Problem Verdict(const ServerStatus& status);

// Returns the part of the status that `caller` may see. Removes the models and versions that the caller may not use,
// and, for every caller, the rejected settings, connections, certificates, log and flags. Also removes the repository's
// fault, except for a caller that may use all models.
ServerStatus ShownTo(const Caller& caller, ServerStatus status);

// Returns a JSON object with "verdict" first, then "severity", "problems" and the fields of ServerStatus. Writes one
// value per line, so that people can read the output of curl.
std::string StatusJson(const ServerStatus& status);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PAGES_STATUS_H_
