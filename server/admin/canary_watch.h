// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_ADMIN_CANARY_WATCH_H_
#define VITRINE_SERVER_ADMIN_CANARY_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "server/registry/canary_guard.h"
#include "server/registry/registry.h"
#include "server/registry/settings/serving_settings.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

// Watches the canaries of models whose guard is on. Samples their outcomes, answers and compute times, and runs their
// goldens (stored inputs and outputs) again. Rolls back canaries that exceed a bound of the guard. Thread-safe.
class CanaryWatch {
 public:
  // Returns how far a loaded version's outputs differ from its goldens: GoldenDrift of models/repository/golden.h.
  // RESOURCE_EXHAUSTED: there is not enough memory to compute it.
  using Drift = std::function<absl::StatusOr<double>(const LoadedModel&)>;
  // Removes a version from traffic; the reason is shown to people. Must not wait. ABORTED: the version is no longer a
  // canary.
  using RollBack = std::function<absl::Status(const VersionId&, const std::string& reason)>;
  static constexpr absl::Duration kPeriod = absl::Seconds(1);

  // The arguments must outlive the watch.
  CanaryWatch(const Registry& registry, const ServingSettings& settings, Drift drift, const Clock& clock)
      : registry_(registry), settings_(settings), drift_(std::move(drift)), clock_(clock) {}
  ~CanaryWatch() { Stop(); }
  CanaryWatch(const CanaryWatch&) = delete;
  CanaryWatch& operator=(const CanaryWatch&) = delete;

  // Calls Look every kPeriod on a separate thread with low priority, until Stop.
  void Start(RollBack roll_back);
  // Stops calling Look and waits for a running call. Idempotent.
  void Stop();
  // Judges the canaries of the models whose guard is on, then rolls back the canaries that exceed a bound. Tries failed
  // rollbacks again.
  void Look(const RollBack& roll_back);

  // Returns the evidence about the canaries of a model, by version.
  std::vector<v1::CanaryStatus> Statuses(const std::string& model) const;

 private:
  struct Canary {
    std::weak_ptr<const LoadedModel> model;  // the loaded version; if the version is reloaded, all fields are reset
    OutcomeWindow window;
    std::weak_ptr<const LoadedModel> stable;  // the stable version; if it changes, the comparisons are reset
    ComputeWindow compute;
    AnswerWindow answers;
    std::string other_classes;  // difference from the classes of `stable`
    absl::Time next_golden;
    std::optional<double> drift;
    std::optional<RollbackVerdict> verdict;  // set once the canary must be rolled back
    std::string last_fault;                  // last rollback error, to log it once

    CanaryEvidence Evidence() const;
    void Sample(absl::Time now, const ModelHandle& canary, const ModelHandle& other, const v1::CanaryGuard& guard);
  };

  void Judge(const VersionId& id, const v1::CanaryGuard& guard);
  void PutAway(const VersionId& id, const RollbackVerdict& verdict, const RollBack& roll_back);
  bool BeginLook(const VersionId& id, const ModelHandle& model, const v1::CanaryGuard& guard, absl::Time now);
  // Returns the result of drift_; infinity if the computation fails; nullopt if there is not enough memory at present.
  std::optional<double> DriftNow(const LoadedModel& model) const;
  ModelHandle StableOf(const std::string& model) const;  // null if there is none

  const Registry& registry_;
  const ServingSettings& settings_;
  const Drift drift_;
  const Clock& clock_;

  mutable Mutex mutex_;
  std::map<VersionId, Canary> canaries_ ABSL_GUARDED_BY(mutex_);

  Mutex ticker_mutex_;
  std::unique_ptr<Ticker> ticker_ ABSL_GUARDED_BY(ticker_mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_ADMIN_CANARY_WATCH_H_
