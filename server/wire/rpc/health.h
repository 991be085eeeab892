// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_HEALTH_H_
#define VITRINE_SERVER_WIRE_RPC_HEALTH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "grpc/health/v1/health.pb.h"
#include "server/models/registry/registry.h"

namespace vitrine {

// Whether requests are served, for the standard health service and for /readyz:
//   "" and the full name of a service   WhyNotServing is empty
//   "model/<name>"                      a version of the model is ready and computes
// Follows the registry. Thread-safe.
class Health {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  // Must not block and must not call Watch or Unwatch.
  using Listener = std::function<void(Status)>;

  // `registry` outlives this object. `allow_empty`: a server without any version is ready all the same.
  explicit Health(Registry& registry, bool allow_empty = false);
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  // Why requests are not served, in one sentence; empty when they are. They are not before SetServing, while no
  // version is ready and computes (unless there is none at all and `allow_empty`), while something is hung or broken,
  // and after SetNotServing.
  std::string WhyNotServing() const;
  // Whether that version is ready and computes, and the server is not draining.
  bool Serves(const VersionId& version) const;

  void SetServing();
  // NOT_SERVING for every name, for good.
  void SetNotServing();
  // Says in one sentence what does not come back; empty once it has.
  void SetHung(std::string reason);
  // Says in one sentence why no model can be computed; empty once one can.
  void SetBroken(std::string reason);
  // The versions that are ready and do not compute all the same. They count as if they were not ready.
  void SetFailing(std::set<VersionId> versions);

  // Nothing for a name that is not known.
  std::optional<Status> Check(const std::string& service) const;

  // The listener hears the present status (SERVICE_UNKNOWN for a name that is not known), then each change.
  uint64_t Watch(const std::string& service, Listener listener);
  // After it returns the listener is not running and will not be called again.
  void Unwatch(uint64_t id);

 private:
  struct Watcher {
    std::string service;
    Listener listener;
  };

  void OnEvent(const v1::ModelEvent& event);
  // Whether a version of the model is ready and computes.
  bool ServesOneOf(const std::string& model, const std::map<int64_t, v1::ModelState>& versions) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Reason() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Brings every name in line with what is known.
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
  std::map<std::string, std::map<int64_t, v1::ModelState>> versions_ ABSL_GUARDED_BY(mutex_);  // by model
  std::map<std::string, Status> statuses_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_watcher_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_HEALTH_H_
