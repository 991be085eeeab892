// SPDX-License-Identifier: Apache-2.0
#include "server/pages/readings.h"

#include "absl/strings/match.h"

namespace vitrine {

std::vector<ShownVersion> ReadVersions(const std::vector<VersionStatus>& versions) {
  std::vector<ShownVersion> shown;
  for (const VersionStatus& status : versions) {
    ShownVersion& facts = shown.emplace_back();
    facts.model = status.id.model;
    facts.version = status.id.version;
    facts.state = status.state;
    facts.reason = status.reason;
    facts.traffic_percent = status.traffic_percent;
    facts.labels = status.labels;
    if (status.model == nullptr) continue;
    facts.loaded = {.device_bytes = status.model->device_bytes,
                    .sha256 = status.model->weights_sha256,
                    .precision = status.model->precision,
                    .device = status.model->device};
  }
  return shown;
}

std::vector<std::pair<std::string, absl::Time>> ReadCertificates(const Identity* identity,
                                                                 const std::string& admin_address) {
  const absl::Time expires = identity == nullptr ? absl::InfiniteFuture() : identity->certificate_expires();
  if (expires == absl::InfiniteFuture()) return {};
  std::vector<std::pair<std::string, absl::Time>> certificates = {{"grpc", expires}};
  if (!admin_address.empty() && !absl::StartsWith(admin_address, "unix:")) certificates.emplace_back("admin", expires);
  return certificates;
}

}  // namespace vitrine
