#ifndef VITRINE_SERVER_HEALTH_H_
#define VITRINE_SERVER_HEALTH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "grpc/health/v1/health.pb.h"
#include "server/mutex.h"
#include "server/registry.h"

namespace vitrine {

// What the standard health service answers:
//   "" and "vitrine.v1.Classifier"   the server takes requests
//   "model/<name>"                   a version of the model is ready
// Follows the registry. NOT_SERVING until SetServing. Thread-safe.
class Health {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  // Must not block and must not call Watch or Unwatch.
  using Listener = std::function<void(Status)>;

  // `registry` outlives this object.
  explicit Health(Registry& registry);
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  void SetServing();
  // NOT_SERVING for every name, for good.
  void SetNotServing();

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
  void Set(const std::string& service, Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Registry& registry_;
  uint64_t subscription_ = 0;

  mutable Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::set<int64_t>> ready_ ABSL_GUARDED_BY(mutex_);  // versions by model
  std::map<std::string, Status> statuses_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_watcher_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_HEALTH_H_
