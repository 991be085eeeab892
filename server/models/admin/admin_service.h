// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_ADMIN_ADMIN_SERVICE_H_
#define VITRINE_SERVER_MODELS_ADMIN_ADMIN_SERVICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "server/models/registry/registry.h"
#include "server/models/registry/serving_settings.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

class CanaryWatch;

// The Admin service (admin.proto), without a listener, identity or audit. Thread-safe: changes are made one at a time.
//
// A change is made in the settings, the registry brings the versions in memory in line with it, the state file is
// replaced, and the call returns when that is done: it may take as long as loading a model, kLoadPatience at most, and
// ends with UNAVAILABLE when that is over or the registry stops. What cannot be done is undone before the call returns,
// and was never in the state file. Requests move as soon as a change is set, whatever the registry is loading then.
class AdminService {
 public:
  // How long the registry, which loads one version after the other, is waited for: by a change that needs a load, and
  // by one whose versions are READY, so that what it takes out of memory is out of it, if that is soon.
  static constexpr absl::Duration kLoadPatience = absl::Minutes(10);
  static constexpr absl::Duration kReadyPatience = absl::Seconds(10);

  // The parts outlive the service. `canaries` may be null.
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

  // For the canary guard: puts away a version that is tried out, in this process at least where the state file cannot
  // be written. It has no share of the requests any more from the first moment on, whatever change or load is in
  // progress. Waits for none: UNAVAILABLE during a change, after which it has to be called again. ABORTED: it is no
  // canary any more.
  absl::Status RollBackCanary(const VersionId& id, const std::string& reason);

 private:
  using Edit = ServingSettings::Edit;
  using Durability = ServingSettings::Durability;
  using Verify = std::function<absl::Status()>;
  // A step on the way to a change: what it sets, how it is seen to have come off, and versions that are loaded at once,
  // whatever became of them before.
  struct Step {
    Edit edit;
    Verify verify;
    std::vector<VersionId> retry = {};
    absl::Duration patience = kLoadPatience;  // with the registry
  };

  absl::StatusOr<v1::ServingChange> Make(const std::string& model, const Edit& edit, const Verify& verify,
                                         const std::vector<VersionId>& retry = {}) {
    return Make(model, {Step{edit, verify, retry, PatienceFor(retry)}}, Durability::kRequired);
  }
  // Takes the steps one after the other, each when the registry has followed the one before, and keeps what came out.
  // Undoes all of them where one does not come off.
  absl::StatusOr<v1::ServingChange> Make(const std::string& model, const std::vector<Step>& steps,
                                         Durability durability);
  absl::Status Take(const std::string& model, const Step& step, Durability durability);
  // Loads what would serve once `edit` has taken a version away, as far as it can be loaded.
  absl::Status BringReplacements(const std::string& model, const Edit& edit);
  absl::StatusOr<int64_t> VersionToPutAway(const v1::RollbackModelRequest& request) const;
  absl::StatusOr<v1::ServingChange> RollBackTo(const VersionId& bad, const std::string& reason, int64_t good,
                                               Durability durability, absl::Duration patience);
  absl::StatusOr<int64_t> VersionBeside(const std::string& model, const std::vector<VersionId>& named) const;
  // With a change that is about these versions.
  absl::Duration PatienceFor(const std::vector<VersionId>& named) const;
  // Versions that one change tries, one after the other.
  static constexpr size_t kMostTried = 10;

  static std::string Text(const VersionId& id);  // in words, for the sentences of refusals
  static absl::Status CheckNumber(int64_t version);
  absl::Status CheckKnown(const std::string& model) const;
  // OK if it is; else why not.
  absl::Status CheckReady(const VersionId& id) const;
  // OK where requests may be divided between the version and another one, or `stable`; as far as both are in memory.
  absl::Status CheckClasses(const VersionId& id, std::optional<int64_t> other = std::nullopt) const;
  absl::Status CheckSomeReady(const std::string& model) const;
  // Versions below `version` that may serve in its place, the highest first; none that is tried out itself.
  std::vector<int64_t> Before(const VersionId& id) const;

  Registry& registry_;
  ServingSettings& settings_;
  const CanaryWatch* const canaries_;
  Mutex mutex_;  // held during a change
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_ADMIN_ADMIN_SERVICE_H_
