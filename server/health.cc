#include "server/health.h"

#include <utility>

namespace vitrine {
namespace {

using grpc::health::v1::HealthCheckResponse;

constexpr char kServer[] = "";
constexpr char kClassifier[] = "vitrine.v1.Classifier";

}  // namespace

Health::Health(Registry& registry) : registry_(registry) {
  {
    MutexLock lock(mutex_);
    Set(kServer, HealthCheckResponse::NOT_SERVING);
    Set(kClassifier, HealthCheckResponse::NOT_SERVING);
  }
  subscription_ = registry_.Subscribe([this](const v1::ModelEvent& event) { OnEvent(event); });
}

Health::~Health() {
  registry_.Unsubscribe(subscription_);
}

void Health::SetServing() {
  MutexLock lock(mutex_);
  Set(kServer, HealthCheckResponse::SERVING);
  Set(kClassifier, HealthCheckResponse::SERVING);
}

void Health::SetNotServing() {
  MutexLock lock(mutex_);
  for (const auto& [service, status] : std::map(statuses_)) Set(service, HealthCheckResponse::NOT_SERVING);
  stopped_ = true;
}

std::optional<Health::Status> Health::Check(const std::string& service) const {
  MutexLock lock(mutex_);
  const auto found = statuses_.find(service);
  return found == statuses_.end() ? std::nullopt : std::optional<Status>(found->second);
}

uint64_t Health::Watch(const std::string& service, Listener listener) {
  MutexLock lock(mutex_);
  const auto found = statuses_.find(service);
  listener(found == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : found->second);
  watchers_.emplace(next_watcher_, Watcher{service, std::move(listener)});
  return next_watcher_++;
}

void Health::Unwatch(uint64_t id) {
  MutexLock lock(mutex_);
  watchers_.erase(id);
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
  Set("model/" + version.model(), ready.empty() ? HealthCheckResponse::NOT_SERVING : HealthCheckResponse::SERVING);
}

void Health::Set(const std::string& service, Status status) {
  if (stopped_) return;
  const auto [known, added] = statuses_.try_emplace(service, status);
  if (!added && std::exchange(known->second, status) == status) return;
  for (const auto& [id, watcher] : watchers_) {
    if (watcher.service == service) watcher.listener(status);
  }
}

}  // namespace vitrine
