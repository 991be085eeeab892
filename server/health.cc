#include "server/health.h"

namespace vitrine {
namespace {

constexpr char kClassifier[] = "vitrine.v1.Classifier";

}  // namespace

Health::Health(grpc::HealthCheckServiceInterface& service, Registry& registry)
    : service_(service), registry_(registry) {
  // gRPC begins with SERVING for "".
  service_.SetServingStatus("", false);
  service_.SetServingStatus(kClassifier, false);
  subscription_ = registry_.Subscribe([this](const v1::ModelEvent& event) { OnEvent(event); });
}

Health::~Health() {
  registry_.Unsubscribe(subscription_);
}

void Health::SetServing() {
  MutexLock lock(mutex_);
  if (stopped_) return;
  service_.SetServingStatus("", true);
  service_.SetServingStatus(kClassifier, true);
}

void Health::SetNotServing() {
  MutexLock lock(mutex_);
  stopped_ = true;
  service_.Shutdown();
}

void Health::OnEvent(const v1::ModelEvent& event) {
  const v1::ModelVersion& version = event.version();
  MutexLock lock(mutex_);
  std::set<int64_t>& ready = ready_[version.model()];
  if (!event.removed() && version.state() == v1::READY) {
    ready.insert(version.version());
  } else {
    ready.erase(version.version());
  }
  if (!stopped_) service_.SetServingStatus("model/" + version.model(), !ready.empty());
}

}  // namespace vitrine
