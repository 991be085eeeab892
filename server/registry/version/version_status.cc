// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version/version_status.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <optional>

namespace vitrine {

v1::ModelVersion Describe(const VersionStatus& status) {
  v1::ModelVersion version;
  version.set_model(status.id.model);
  version.set_version(status.id.version);
  version.set_state(status.state);
  version.set_reason(status.reason);
  for (const std::string& label : status.labels) version.add_version_labels(label);
  version.set_traffic_percent(status.traffic_percent);
  if (status.model == nullptr) return version;
  const LoadedModel& model = *status.model;
  *version.mutable_config() = model.manifest.config();
  *version.mutable_provenance() = model.manifest.provenance();
  if (model.manifest.has_calibration()) *version.mutable_calibration() = model.manifest.calibration();
  version.set_weights_sha256(model.weights_sha256);
  version.set_parameters(model.manifest.parameters());
  version.set_device_bytes(model.device_bytes);
  for (const AttentionAbility::Offer& has : model.attention.offers) {
    version.add_attention_kinds(has.kind);
    version.set_layers(std::max(version.layers(), has.layers));
    version.set_heads(std::max(version.heads(), has.heads));
    v1::AttentionOffer& offer = *version.add_attention();
    offer.set_kind(has.kind);
    offer.set_layers(has.layers);
    offer.set_heads(has.heads);
  }
  for (const v1::FeatureKind kind : model.features.kinds) version.add_feature_kinds(kind);
  version.set_feature_width(model.features.width);
  const std::optional<BatchLimits> batch = model.queue_limits->batch();
  if (status.state == v1::READY && batch.has_value()) *version.mutable_batching() = ToProto(*batch);
  return version;
}

std::string SerializeWithLabels(const v1::ModelVersion& version, const VersionStatus& status) {
  constexpr uint32_t kTag = v1::ModelVersion::kLabelsFieldNumber << 3 | 2;  // wire type 2: length-delimited
  std::string bytes = version.SerializeAsString();
  if (status.model == nullptr) return bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  for (const std::string& label : status.model->labels) {
    out.WriteTag(kTag);
    out.WriteVarint32(static_cast<uint32_t>(label.size()));
    out.WriteString(label);
  }
  return bytes;
}

}  // namespace vitrine
