// SPDX-License-Identifier: Apache-2.0
#include "server/registry/absent_versions.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/strings/str_join.h"
#include "server/observe/log.h"
#include "server/registry/version/version_status.h"

namespace vitrine {
namespace {

// Returns the versions that are named by a label, a share, the policy or a precision.
std::set<int64_t> NamedVersions(const v1::ModelServing& serving) {
  const auto& specific = serving.version_policy().specific().versions();
  std::set<int64_t> versions(specific.begin(), specific.end());
  for (const v1::VersionLabel& label : serving.labels()) versions.insert(label.version());
  for (const v1::TrafficShare& share : serving.traffic()) versions.insert(share.version());
  for (const v1::VersionPrecision& of : serving.version_precisions()) versions.insert(of.version());
  return versions;
}

constexpr size_t kMost = 10;

// Lists the newest versions of a model, so that an operator finds the version that was meant.
std::string Held(const std::set<int64_t>& versions) {
  const size_t shown = std::min(kMost, versions.size());
  return absl::StrJoin(std::prev(versions.end(), static_cast<std::ptrdiff_t>(shown)), versions.end(), ", ");
}

// Lists the models that have versions, so that an operator notices a misspelled name.
std::string Held(const std::map<std::string, std::set<int64_t>>& present) {
  std::vector<std::string> models;
  for (const auto& [model, versions] : present) {
    if (!versions.empty() && models.size() < kMost) models.push_back(model);
  }
  return absl::StrJoin(models, ", ");
}

}  // namespace

std::set<VersionId> LogAbsentVersions(const ServingSettings& settings,
                                      const std::map<std::string, std::set<int64_t>>& present,
                                      const std::set<VersionId>& logged) {
  std::set<VersionId> absent;
  for (const std::string& model : settings.Models()) {
    const auto found = present.find(model);
    if (found == present.end() || found->second.empty()) {
      absent.insert({model, kWholeModel});
      continue;
    }
    for (const int64_t version : NamedVersions(settings.Plan(model).serving)) {
      if (!found->second.contains(version)) absent.insert({model, version});
    }
  }
  for (const VersionId& id : absent) {
    if (logged.contains(id)) continue;
    const bool is_whole = id.version == kWholeModel;
    const std::string version = is_whole ? "" : std::to_string(id.version);
    Log(LogLevel::kWarning, "the serving settings name a model or version that the repository does not have",
        {{"model", id.model}, {"version", version}, {"held", is_whole ? Held(present) : Held(present.at(id.model))}});
  }
  return absent;
}

}  // namespace vitrine
