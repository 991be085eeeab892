// SPDX-License-Identifier: Apache-2.0
#include "server/admin/describe_serving.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "server/registry/canary_guard.h"
#include "server/registry/settings/serving_rules.h"

namespace vitrine {

v1::ModelServingStatus DescribeServing(const std::string& model, const Registry& registry,
                                       const ServingSettings& settings, const CanaryWatch* canaries) {
  const ModelPlan plan = settings.Plan(model);
  const std::vector<VersionStatus> versions = registry.List(model);
  v1::ModelServingStatus status;
  status.set_model(model);
  *status.mutable_serving() = plan.serving;
  status.set_stable_version(registry.Traffic(model).stable);
  for (const VersionStatus& version : versions) {
    v1::ModelVersion& described = *status.add_versions();
    described = Describe(version);
    described.clear_config();
    described.clear_provenance();
  }
  *status.mutable_put_away() = plan.changed.put_away();
  status.set_unloaded(plan.changed.unloaded());
  status.set_memory_bytes(MemoryOf(versions));
  status.set_changed_by_admin(!IsEmpty(plan.changed));
  if (canaries != nullptr) {
    for (const v1::CanaryStatus& canary : canaries->Statuses(model)) *status.add_canaries() = canary;
  }
  return status;
}

v1::ServingStatus DescribeServer(const Registry& registry, const ServingSettings& settings) {
  v1::ServingStatus status;
  status.set_serving_config(settings.options().serving_config.string());
  status.set_serving_config_fault(std::string(settings.fault().message()));
  status.set_admin_state(settings.options().admin_state.string());
  status.set_memory_bytes(MemoryOf(registry.List()));
  const int64_t most = registry.options().max_memory_bytes;
  if (most != kNoMemoryLimit) status.set_max_memory_bytes(most);
  return status;
}

std::string GuardNote(int64_t version, const v1::ServingChange& change) {
  return absl::StrCat("version ", version, ": ", DescribeGuard(change.serving().serving().canary_guard()));
}

std::string PinNote(int64_t version) {
  return absl::StrCat("version ", version,
                      " got the label stable; newer versions do not replace it until the label moves or is cleared");
}

}  // namespace vitrine
