// SPDX-License-Identifier: Apache-2.0
#include "server/pages/version_families.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/observe/metric_table.h"

namespace vitrine {

namespace {

// Adds no family if no version uses the memory of a device.
void AddDeviceMemory(MetricFamilies& families, const std::vector<VersionStatus>& versions) {
  prometheus::MetricFamily* family = nullptr;
  for (const VersionStatus& status : versions) {
    if (status.model == nullptr || status.model->device_memory.device_bytes == 0) continue;
    if (family == nullptr) family = &AddFamily(families, MetricOf("vitrine_model_memory_bytes"));
    const DeviceMemory& memory = status.model->device_memory;
    for (const auto& [kind, bytes] :
         {std::pair("device", memory.device_bytes), std::pair("pinned", memory.pinned_bytes)}) {
      AddValue(*family, {{"model", status.id.model}, {"version", absl::StrCat(status.id.version)}, {"kind", kind}},
               static_cast<double>(bytes));
    }
  }
}

}  // namespace

void AddVersionFamilies(MetricFamilies& families, const std::vector<VersionStatus>& versions) {
  using prometheus::MetricFamily;
  MetricFamily& info = AddFamily(families, MetricOf("vitrine_model_info"));
  MetricFamily& bytes = AddFamily(families, MetricOf("vitrine_model_device_bytes"));
  MetricFamily& states = AddFamily(families, MetricOf("vitrine_model_state"));
  MetricFamily& traffic = AddFamily(families, MetricOf("vitrine_version_traffic_ratio"));
  MetricFamily& labelled = AddFamily(families, MetricOf("vitrine_version_label_info"));
  for (const VersionStatus& status : versions) {
    const MetricLabels id = {{"model", status.id.model}, {"version", absl::StrCat(status.id.version)}};
    for (const v1::ModelState state : {v1::LOADING, v1::READY, v1::RETIRING, v1::FAILED}) {
      MetricLabels labels = id;
      labels.push_back({"state", v1::ModelState_Name(state)});
      AddValue(states, std::move(labels), status.state == state ? 1 : 0);
    }
    if (status.state == v1::READY) AddValue(traffic, id, status.traffic_percent / 100);
    for (const std::string& label : status.labels) {
      MetricLabels labels = id;
      labels.push_back({"label", label});
      AddValue(labelled, std::move(labels), 1);
    }
    if (status.model == nullptr) continue;
    AddValue(bytes, id, static_cast<double>(status.model->device_bytes));
    MetricLabels labels = id;
    labels.push_back({"sha256", status.model->weights_sha256});
    labels.push_back({"precision", status.model->precision});
    labels.push_back({"device", status.model->device});
    AddValue(info, std::move(labels), 1);
  }
  AddDeviceMemory(families, versions);
}

}  // namespace vitrine
