// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_ADMIN_ADMIN_SERVICE_H_
#define VITRINE_SERVER_ADMIN_ADMIN_SERVICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "server/registry/registry.h"
#include "server/registry/settings/serving_settings.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

class CanaryWatch;

// The Admin service (admin.proto), without its listener, authorization and audit log. Thread-safe: changes are made one
// at a time. A change edits the settings, the registry updates the versions in memory, the state file is replaced, and
// the call returns. A call may take as long as loading a model. If a load takes longer than kLoadPatience, or if the
// registry stops, the call ends with UNAVAILABLE. A change that fails is undone before the call returns and never
// reaches the state file. Requests use the changed settings at once, even while the registry is loading.
class AdminService {
 public:
  // Longest waits for the registry, which loads the versions of a model one after the other. A change that may need a
  // load or names no version waits for at most kLoadPatience. Other changes take effect at once; they wait for at most
  // kReadyPatience, so that the registry can free the versions that the change unloads.
  static constexpr absl::Duration kLoadPatience = absl::Minutes(10);
  static constexpr absl::Duration kReadyPatience = absl::Seconds(10);

  // The arguments must outlive the service. `canaries` may be null.
  AdminService(Registry& registry, ServingSettings& settings, const CanaryWatch* canaries = nullptr)
      : registry_(registry), settings_(settings), canaries_(canaries) {}

  absl::StatusOr<v1::ServingChange> LoadModel(const v1::LoadModelRequest& request);
  absl::StatusOr<v1::ServingChange> UnloadModel(const v1::UnloadModelRequest& request);
  absl::StatusOr<v1::ServingChange> RollbackModel(const v1::RollbackModelRequest& request);
  absl::StatusOr<v1::ServingChange> SetVersionPolicy(const v1::SetVersionPolicyRequest& request);
  absl::StatusOr<v1::ServingChange> SetTraffic(const v1::SetTrafficRequest& request);
  absl::StatusOr<v1::ServingChange> SetLabel(const v1::SetLabelRequest& request);
  absl::StatusOr<v1::ServingChange> ClearLabel(const v1::ClearLabelRequest& request);
  absl::StatusOr<v1::ServingChange> ResetServing(const v1::ResetServingRequest& request);
  absl::StatusOr<v1::ServingStatus> GetServing(const v1::GetServingRequest& request) const;

  // Removes a canary from traffic, for the canary guard. The canary stops getting requests at once, even during another
  // change or load. If the state file cannot be written, the removal still applies in this process. Does not wait.
  // UNAVAILABLE: a change is running; call again when it has ended. ABORTED: the version is no longer a canary.
  absl::Status RollBackCanary(const VersionId& id, const std::string& reason);

 private:
  using Edit = ServingSettings::Edit;
  using Durability = ServingSettings::Durability;
  using Verify = std::function<absl::Status()>;
  // One step of a change. `edit` changes the settings, and `verify` checks that the step succeeded. The versions in
  // `retry` are loaded at once, even if an earlier load of these versions failed.
  struct Step {
    Edit edit;
    Verify verify;
    std::vector<VersionId> retry = {};
    absl::Duration patience = kLoadPatience;  // longest wait for the registry
  };

  // Returns a step that loads `versions` while the version `serving` (0: none) keeps serving. Only a later step changes
  // the traffic, because a load may fail.
  static Step Bring(int64_t serving, const std::vector<VersionId>& versions, const Verify& verify);

  absl::StatusOr<v1::ServingChange> Make(const std::string& model, const Edit& edit, const Verify& verify,
                                         const std::vector<VersionId>& retry = {}) {
    return Make(model, {Step{edit, verify, retry, PatienceFor(retry)}}, Durability::kRequired);
  }
  // Applies the steps in order, then stores the result. Each step begins once the registry has applied the previous
  // step. If a step fails, undoes all steps.
  absl::StatusOr<v1::ServingChange> Make(const std::string& model, const std::vector<Step>& steps,
                                         Durability durability);
  absl::Status Take(const std::string& model, const Step& step, Durability durability);
  // Loads the versions that would serve after `edit` has removed a version. A version that cannot be loaded is not an
  // error.
  absl::Status LoadReplacements(const std::string& model, const Edit& edit);
  absl::StatusOr<int64_t> VersionToPutAway(const v1::RollbackModelRequest& request) const;
  absl::StatusOr<v1::ServingChange> RollBackTo(const VersionId& bad, const std::string& reason, int64_t good,
                                               Durability durability, absl::Duration patience);
  absl::StatusOr<int64_t> VersionToPin(const std::string& model, const std::vector<VersionId>& named) const;
  // Returns the maximum time for which a change waits for the registry: kReadyPatience if the change names versions
  // (`named`) and all of them are READY, otherwise kLoadPatience.
  absl::Duration PatienceFor(const std::vector<VersionId>& named) const;
  // Maximum number of versions that one change tries, one after the other.
  static constexpr size_t kMostTried = 10;

  static std::string Text(const VersionId& id);  // names a version in error messages
  static absl::Status CheckNumber(int64_t version);
  absl::Status CheckKnown(const std::string& model) const;
  // Returns OK if the version is READY, otherwise an error with the reason.
  absl::Status CheckReady(const VersionId& id) const;
  // Checks that requests may be divided between the version and `other` (by default `stable`): their classes must
  // match. Returns OK if the guard is off or allows other labels, or if one of the two versions is not in memory.
  absl::Status CheckClasses(const VersionId& id, std::optional<int64_t> other = std::nullopt) const;
  absl::Status CheckSomeReady(const std::string& model) const;
  // Returns at most kMostTried older versions that may replace `id`, newest first, without canaries.
  std::vector<int64_t> Before(const VersionId& id) const;

  Registry& registry_;
  ServingSettings& settings_;
  const CanaryWatch* const canaries_;
  Mutex mutex_;  // locked during a change
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_ADMIN_ADMIN_SERVICE_H_
