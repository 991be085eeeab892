// SPDX-License-Identifier: Apache-2.0
#include "server/pages/status.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/models/registry/version_status.h"

namespace vitrine {
namespace {

constexpr absl::Duration kCertificateWarning = absl::Hours(14 * 24);
// Nothing that this project serves takes so long for one batch on a healthy machine.
constexpr absl::Duration kLongBatch = absl::Seconds(10);
constexpr absl::Duration kLongWait = absl::Seconds(1);
constexpr double kSaturated = 0.95;
// Below this a rate is one event that has nearly left the minute.
constexpr double kRateFloor = 0.001;

class Problems {
 public:
  void Down(std::string sentence) { list_.push_back({Severity::kDown, std::move(sentence)}); }
  void Degraded(std::string sentence) { list_.push_back({Severity::kDegraded, std::move(sentence)}); }
  std::vector<Problem> Take() {
    std::stable_sort(list_.begin(), list_.end(),
                     [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
    return std::move(list_);
  }

 private:
  std::vector<Problem> list_;
};

void CheckModels(const ServerStatus& status, Problems& problems) {
  for (const ServerStatus::Model& model : status.models) {
    if (model.shed_per_second > kRateFloor) {
      problems.Degraded(absl::StrFormat("%s requests a second to %s are refused because of load, of %s a second",
                                        RateText(model.shed_per_second), model.name,
                                        RateText(model.requests_per_second)));
    }
    if (model.rollbacks > 0) {
      problems.Degraded(absl::StrCat("a canary of ", model.name, " was taken out of traffic (", model.rollbacks,
                                     model.rollbacks == 1 ? " time" : " times", " since the start)"));
    }
  }
}

void CheckVersions(const ServerStatus& status, Problems& problems) {
  std::map<std::string, int64_t> serving;  // the newest READY version of a model
  for (const ServerStatus::Version& version : status.versions) {
    if (version.state == "READY") serving[version.model] = std::max(serving[version.model], version.version);
  }
  for (const ServerStatus::Version& version : status.versions) {
    const std::string name = absl::StrCat(version.model, " version ", version.version);
    // What cannot be read as a whole is the repository's fault, which is told.
    if (version.state == "FAILED" && version.version != kWholeModel) {
      const auto other = serving.find(version.model);
      problems.Degraded(absl::StrCat(name, " was refused: ", version.reason, "; ",
                                     other == serving.end() ? "no version of this model serves"
                                                            : absl::StrCat("version ", other->second, " serves")));
    }
    if (version.faults_per_second > kRateFloor) {
      problems.Degraded(absl::StrFormat("%s failed %s requests a second by the server's own fault, of %s a second",
                                        name, RateText(version.faults_per_second),
                                        RateText(version.requests_per_second)));
    }
  }
}

void CheckExecutors(const ServerStatus& status, Problems& problems) {
  for (size_t i = 0; i < status.executors.size(); ++i) {
    if (status.executors[i].batch_age < kLongBatch) continue;
    problems.Degraded(absl::StrCat("executor ", i, " has been at one batch for ",
                                   absl::FormatDuration(absl::Trunc(status.executors[i].batch_age, absl::Seconds(1)))));
  }
  if (const double busy = BusyRatio(status.executors); busy >= kSaturated) {
    problems.Degraded(absl::StrFormat("the executors are %.0f %% busy; more load is refused or waits", busy * 100));
  }
  if (status.queue.oldest >= kLongWait) {
    problems.Degraded(absl::StrCat("the oldest of ", status.queue.requests, " waiting requests has waited for ",
                                   absl::FormatDuration(absl::Trunc(status.queue.oldest, absl::Milliseconds(100)))));
  }
}

void CheckCertificates(const ServerStatus& status, Problems& problems) {
  for (const auto& [listener, expires] : status.certificates) {
    const absl::Duration left = expires - status.now;
    const std::string date = absl::FormatTime("%Y-%m-%d %H:%M UTC", expires, absl::UTCTimeZone());
    if (left <= absl::ZeroDuration()) {
      problems.Down(absl::StrCat("the certificate of the ", listener, " listener expired at ", date));
    } else if (left < kCertificateWarning) {
      problems.Degraded(absl::StrCat("the certificate of the ", listener, " listener expires at ", date));
    }
  }
}

}  // namespace

std::string RateText(double per_second) {
  return per_second >= 100 ? absl::StrFormat("%.0f", per_second) : absl::StrFormat("%.3g", per_second);
}

double BusyRatio(const std::vector<ServerStatus::Executor>& executors) {
  double busy = 0;
  for (const ServerStatus::Executor& executor : executors) {
    busy += executor.busy_ratio / static_cast<double>(executors.size());
  }
  return busy;
}

std::vector<Problem> FindProblems(const ServerStatus& status) {
  Problems problems;
  if (!status.not_ready.empty()) problems.Down(absl::StrCat("requests are not served: ", status.not_ready));
  CheckCertificates(status, problems);
  CheckExecutors(status, problems);
  CheckModels(status, problems);
  if (!status.repository_fault.empty()) {
    problems.Degraded(absl::StrCat("the ", status.repository_fault));
  }
  CheckVersions(status, problems);
  return problems.Take();
}

Problem Verdict(const ServerStatus& status) {
  const std::vector<Problem> problems = FindProblems(status);
  if (problems.empty()) {
    double rate = 0;
    for (const ServerStatus::Model& model : status.models) rate += model.requests_per_second;
    const auto ready = std::count_if(status.versions.begin(), status.versions.end(),
                                     [](const ServerStatus::Version& v) { return v.state == "READY"; });
    return {Severity::kOk, absl::StrFormat("Ready: %d %s, %s requests a second; nothing stands out.", ready,
                                           ready == 1 ? "version serves" : "versions serve", RateText(rate))};
  }
  const std::string more = problems.size() == 1 ? "." : absl::StrCat("; and ", problems.size() - 1, " more, below.");
  const char* const head = problems.front().severity == Severity::kDown ? "Not well: " : "Ready, but ";
  return {problems.front().severity, absl::StrCat(head, problems.front().sentence, more)};
}

ServerStatus ShownTo(const Caller& caller, ServerStatus status) {
  std::erase_if(status.models, [&](const ServerStatus::Model& model) { return !caller.MayUse(model.name); });
  std::erase_if(status.versions, [&](const ServerStatus::Version& version) { return !caller.MayUse(version.model); });
  if (caller.models != nullptr) status.repository_fault.clear();
  status.certificates.clear();
  status.log.clear();
  status.flags.clear();
  return status;
}

}  // namespace vitrine
