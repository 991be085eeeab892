#ifndef VITRINE_SERVER_ADMIN_ADMIN_SERVICE_H_
#define VITRINE_SERVER_ADMIN_ADMIN_SERVICE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/mutex.h"
#include "server/registry/registry.h"
#include "server/registry/serving_settings.h"
#include "vitrine/v1/admin.pb.h"

namespace vitrine {

class CanaryWatch;

// The Admin service (admin.proto), without a listener, identity or audit. Thread-safe: changes are made one at a time.
//
// A change is written to the settings, the registry brings the versions in memory in line with it, and the call returns
// when that is done: it may take as long as loading a model, and ends with UNAVAILABLE when the registry stops. What
// cannot be done is undone before the call returns.
class AdminService {
 public:
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

 private:
  using Edit = std::function<void(v1::ModelOverride&)>;
  using Verify = std::function<absl::Status()>;

  // Makes a change, waits until the registry follows, and undoes it where `verify` then says that it did not come off.
  // `retry` is loaded at once, whatever became of it before.
  absl::StatusOr<v1::ServingChange> Make(const std::string& model, const Edit& edit, const Verify& verify,
                                         const std::vector<VersionId>& retry = {});
  // Back to what the Admin service had set before a change.
  void Undo(const std::string& model, const v1::ModelOverride& before);
  absl::StatusOr<v1::ServingChange> RollBackTo(const VersionId& bad, const std::string& reason, int64_t good);
  absl::Status CheckKnown(const std::string& model) const;
  // OK if it is; else why not.
  absl::Status CheckReady(const VersionId& id) const;
  absl::Status CheckSomeReady(const std::string& model) const;
  // Versions below `version` that may serve in its place, the highest first; none that is tried out itself.
  std::vector<int64_t> Before(const VersionId& id) const;

  Registry& registry_;
  ServingSettings& settings_;
  const CanaryWatch* const canaries_;
  Mutex mutex_;  // held during a change
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_ADMIN_ADMIN_SERVICE_H_
