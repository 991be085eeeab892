// SPDX-License-Identifier: Apache-2.0
#include "server/wire/rpc/health.h"

#include <utility>

namespace vitrine {
namespace {

using grpc::health::v1::HealthCheckResponse;

// Names in the health service: "" for the whole server, and the name of each service.
constexpr const char* kServices[] = {"", "vitrine.v1.Classifier", "vitrine.v1.Registry",
                                     "inference.GRPCInferenceService", "grpc.health.v1.Health"};

}  // namespace

Health::Health(Registry& registry, bool allow_empty) : registry_(registry), allow_empty_(allow_empty) {
  {
    MutexLock lock(mutex_);
    Update();
  }
  subscription_ = registry_.Subscribe([this](const v1::ModelEvent& event) { OnEvent(event); });
}

Health::~Health() {
  registry_.Unsubscribe(subscription_);
}

std::string Health::WhyNotServing() const {
  MutexLock lock(mutex_);
  return Reason();
}

bool Health::Serves(const VersionId& version) const {
  MutexLock lock(mutex_);
  const auto model = versions_.find(version.model);
  if (stopped_ || model == versions_.end()) return false;
  const auto found = model->second.find(version.version);
  return found != model->second.end() && found->second == v1::READY && !failing_.contains(version);
}

void Health::SetServing() {
  MutexLock lock(mutex_);
  started_ = true;
  Update();
}

void Health::SetNotServing() {
  MutexLock lock(mutex_);
  for (const auto& [service, status] : std::map(statuses_)) Set(service, HealthCheckResponse::NOT_SERVING);
  stopped_ = true;
}

void Health::SetHung(std::string reason) {
  MutexLock lock(mutex_);
  hung_ = std::move(reason);
  Update();
}

void Health::SetBroken(std::string reason) {
  MutexLock lock(mutex_);
  broken_ = std::move(reason);
  Update();
}

void Health::SetFailing(std::set<VersionId> versions) {
  MutexLock lock(mutex_);
  failing_ = std::move(versions);
  Update();
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
  std::map<int64_t, v1::ModelState>& versions = versions_[version.model()];
  if (event.removed()) {
    versions.erase(version.version());
  } else {
    versions[version.version()] = version.state();
  }
  Update();
}

bool Health::ServesOneOf(const std::string& model, const std::map<int64_t, v1::ModelState>& versions) const {
  for (const auto& [version, state] : versions) {
    if (state == v1::READY && !failing_.contains({model, version})) return true;
  }
  return false;
}

std::string Health::Reason() const {
  if (stopped_) return "the server is draining";
  if (!started_) {
    const absl::Status readable = registry_.repository_status();
    return readable.ok() ? "the models are being loaded" : std::string(readable.message());
  }
  if (!hung_.empty()) return hung_;
  if (!broken_.empty()) return broken_;
  bool some = false;
  for (const auto& [model, versions] : versions_) {
    if (ServesOneOf(model, versions)) return "";
    some = some || !versions.empty();
  }
  if (!some && allow_empty_) return "";
  if (!some) {
    const std::string why = registry_.WhyEmpty();
    return why.empty() ? "no version is loaded; the policy selects none, or an operator unloaded every model" : why;
  }
  return failing_.empty() ? "no version is ready; the log and WatchModels say why"
                          : "no ready version can compute; the log says why";
}

void Health::Update() {
  const Status status = Reason().empty() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  for (const char* const service : kServices) Set(service, status);
  for (const auto& [model, versions] : versions_) {
    Set("model/" + model,
        ServesOneOf(model, versions) ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
  }
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
