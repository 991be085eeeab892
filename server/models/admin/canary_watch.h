// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_ADMIN_CANARY_WATCH_H_
#define VITRINE_SERVER_MODELS_ADMIN_CANARY_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/models/registry/canary_guard.h"
#include "server/models/registry/registry.h"
#include "server/models/registry/serving_settings.h"
#include "server/process/clock.h"
#include "server/process/ticker.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

// Looks after the canaries of the models whose guard is not off: samples their outcomes, answers and the times that
// they compute, runs their goldens again, and has those put away that pass a bound. Thread-safe.
class CanaryWatch {
 public:
  // How far a loaded version is off its goldens: GoldenDrift of repository/golden.h. RESOURCE_EXHAUSTED: nobody knows.
  using Drift = std::function<absl::StatusOr<double>(const LoadedModel&)>;
  // Puts a version away; the reason is for people. Must not wait for anything else. ABORTED: it is no canary any more.
  using RollBack = std::function<absl::Status(const VersionId&, const std::string& reason)>;
  static constexpr absl::Duration kPeriod = absl::Seconds(1);

  // The parts outlive the watch.
  CanaryWatch(const Registry& registry, const ServingSettings& settings, Drift drift, const Clock& clock)
      : registry_(registry), settings_(settings), drift_(std::move(drift)), clock_(clock) {}
  ~CanaryWatch() { Stop(); }
  CanaryWatch(const CanaryWatch&) = delete;
  CanaryWatch& operator=(const CanaryWatch&) = delete;

  // Looks every kPeriod on a thread of its own, at low priority, until Stop.
  void Start(RollBack roll_back);
  // Waits for a look that is running. Idempotent.
  void Stop();
  // One look: judges every canary of every model, then puts away what passed a bound, and again what could not be.
  void Look(const RollBack& roll_back);

  // What is known of the canaries of a model, by version.
  std::vector<v1::CanaryStatus> Statuses(const std::string& model) const;

 private:
  struct Canary {
    std::weak_ptr<const LoadedModel> model;  // a version that was loaded anew begins anew
    OutcomeWindow window;
    std::weak_ptr<const LoadedModel> stable;  // with another one to compare with it begins anew
    ComputeWindow compute;
    AnswerWindow answers;
    std::string other_classes;  // than those of `stable`
    absl::Time next_golden;
    std::optional<double> drift;
    std::optional<RollbackVerdict> verdict;  // until it is put away
    std::string last_fault;                  // of a rollback that failed, so that it is logged once

    CanaryEvidence Evidence() const;
    void Sample(absl::Time now, const ModelHandle& canary, const ModelHandle& other, const v1::CanaryGuard& guard);
  };

  void Judge(const VersionId& id, const v1::CanaryGuard& guard);
  void PutAway(const VersionId& id, const RollbackVerdict& verdict, const RollBack& roll_back);
  bool BeginLook(const VersionId& id, const ModelHandle& model, const v1::CanaryGuard& guard, absl::Time now);
  // Infinite where the goldens do not compute; nothing for want of memory, which may pass.
  std::optional<double> DriftNow(const LoadedModel& model) const;
  ModelHandle StableOf(const std::string& model) const;  // null: there is none

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

#endif  // VITRINE_SERVER_MODELS_ADMIN_CANARY_WATCH_H_
