#ifndef VITRINE_SERVER_HEALTH_H_
#define VITRINE_SERVER_HEALTH_H_

#include <grpcpp/health_check_service_interface.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "server/mutex.h"
#include "server/registry.h"

namespace vitrine {

// Keeps gRPC's own health service (with Check and Watch) in step with the registry:
//   "" and "vitrine.v1.Classifier"   the server takes requests
//   "model/<name>"                   a version of the model is ready
// Thread-safe.
class Health {
 public:
  // `service` belongs to the gRPC server and outlives this object, as does `registry`.
  Health(grpc::HealthCheckServiceInterface& service, Registry& registry);
  ~Health();
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  void SetServing();
  // For good.
  void SetNotServing();

 private:
  void OnEvent(const v1::ModelEvent& event);

  grpc::HealthCheckServiceInterface& service_;
  Registry& registry_;
  uint64_t subscription_ = 0;

  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::set<int64_t>> ready_ ABSL_GUARDED_BY(mutex_);  // versions by model
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_HEALTH_H_
