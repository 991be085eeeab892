// SPDX-License-Identifier: Apache-2.0
#include "server/observe/metrics.h"

#include <prometheus/text_serializer.h>

#include <iterator>
#include <utility>

namespace vitrine {
namespace {

constexpr char kUnknownModel[] = "unknown";

}  // namespace

Metrics::Metrics(std::string version, std::string revision)
    : version_(std::move(version)), revision_(std::move(revision)) {}

void Metrics::SetSources(Sources sources) {
  sources_ = std::move(sources);
}

std::shared_ptr<ModelMetrics> Metrics::ForModel(const std::string& model) {
  MutexLock lock(mutex_);
  std::shared_ptr<ModelMetrics>& metrics = models_[model];
  if (metrics == nullptr) metrics = model == kUnknownModel ? unknown_ : std::make_shared<ModelMetrics>();
  return metrics;
}

void Metrics::DeclareAdminAction(std::string_view action) {
  MutexLock lock(mutex_);
  admin_actions_.try_emplace({std::string(action), absl::StatusCode::kOk}, 0);
}

void Metrics::CountAdminAction(std::string_view action, absl::StatusCode code) {
  MutexLock lock(mutex_);
  ++admin_actions_[{std::string(action), code}];
}

std::map<std::string, std::shared_ptr<ModelMetrics>> Metrics::Models() const {
  MutexLock lock(mutex_);
  return models_;
}

std::map<std::string, std::shared_ptr<ModelMetrics>> Metrics::WithUnknown() const {
  std::map<std::string, std::shared_ptr<ModelMetrics>> models = Models();
  models.try_emplace(kUnknownModel, unknown_);
  return models;
}

std::vector<prometheus::MetricFamily> Metrics::Collect() const {
  MetricFamilies families;
  AddRequests(families);
  AddEnds(families);
  AddStages(families);
  AddVersionRequests(families);
  AddLoads(families);
  AddQueue(families);
  AddExecutors(families);
  AddDevice(families);
  AddServer(families);
  AddIdentity(families);
  return {std::make_move_iterator(families.begin()), std::make_move_iterator(families.end())};
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(Collect());
}

}  // namespace vitrine
