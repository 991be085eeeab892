// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_HEALTH_H_
#define VITRINE_SERVER_WIRE_RPC_HEALTH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/mutex.h"
#include "grpc/health/v1/health.pb.h"
#include "server/registry/registry.h"

namespace vitrine {

// Health status, for the standard health service and for /readyz:
//   "" and each full service name   SERVING if WhyNotServing is empty
//   "model/<name>"                  SERVING if a version of the model is ready and can compute
// Events of the registry update the status. Thread-safe.
class Health {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  // Receives a status. A listener must not block and must not call functions of Health.
  using Listener = std::function<void(Status)>;

  // `registry` must outlive this object. `allow_empty`: a server without any version is also ready.
  explicit Health(Registry& registry, bool allow_empty = false);
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  // Returns the reason why requests are not served, in one sentence; empty if they are served. Requests are not served
  // before SetServing and after SetNotServing. They are also not served while SetHung or SetBroken has set a reason, or
  // while there is no version that is ready and can compute. (With `allow_empty`, a server without any version serves.)
  std::string WhyNotServing() const;
  // Returns true if the version is ready and can compute, and the server is not draining.
  bool Serves(const VersionId& version) const;

  void SetServing();
  // Sets every name to NOT_SERVING permanently.
  void SetNotServing();
  // Sets the reason why the server hangs, in one sentence; empty once the server has recovered.
  void SetHung(std::string reason);
  // Sets the reason why no model can compute, in one sentence; empty once a model can compute.
  void SetBroken(std::string reason);
  // Sets the ready versions that fail to compute. They count as not ready.
  void SetFailing(std::set<VersionId> versions);

  // Returns the status of a name; nullopt if the name is unknown.
  std::optional<Status> Check(const std::string& service) const;

  // Calls the listener with the present status (SERVICE_UNKNOWN for an unknown name), then on each change.
  uint64_t Watch(const std::string& service, Listener listener);
  // Removes a listener. Once Unwatch returns, the listener is not running and will not be called again.
  void Unwatch(uint64_t id);

 private:
  struct Watcher {
    std::string service;
    Listener listener;
  };

  void OnEvent(const v1::ModelEvent& event);
  // Returns true if a version of the model is ready and can compute.
  bool ServesOneOf(const std::string& model, const std::map<int64_t, v1::ModelState>& versions) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Reason() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Recomputes the status of every name.
  void Update() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Set(const std::string& service, Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Registry& registry_;
  const bool allow_empty_;
  uint64_t subscription_ = 0;

  mutable Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::string hung_ ABSL_GUARDED_BY(mutex_);
  std::string broken_ ABSL_GUARDED_BY(mutex_);
  std::set<VersionId> failing_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::map<int64_t, v1::ModelState>> versions_ ABSL_GUARDED_BY(mutex_);  // states, by model
  std::map<std::string, Status> statuses_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_watcher_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_HEALTH_H_
