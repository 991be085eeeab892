// SPDX-License-Identifier: Apache-2.0
#include "server/registry/version_difference.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "models/model_description.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

v1::ModelConfig ArchitectureOf(const LoadedModel& version) {
  v1::ModelConfig config;
  if (version.description != nullptr) config = version.description->config();
  config.clear_preprocessing();
  return config;
}

}  // namespace

std::string OtherClasses(const LoadedModel& version, const LoadedModel& other) {
  if (version.labels.size() != other.labels.size()) {
    return absl::StrCat("it has ", version.labels.size(), " classes instead of ", other.labels.size());
  }
  const auto [mine, theirs] = std::mismatch(version.labels.begin(), version.labels.end(), other.labels.begin());
  if (mine == version.labels.end()) return "";
  return absl::StrCat("its class ", mine - version.labels.begin(), " is ", Quoted(*mine), " instead of ",
                      Quoted(*theirs));
}

std::string OtherModel(const LoadedModel& version, const LoadedModel& other) {
  if (std::string classes = OtherClasses(version, other); !classes.empty()) return classes;
  const v1::ModelConfig mine = ArchitectureOf(version), theirs = ArchitectureOf(other);
  return mine.SerializeAsString() == theirs.SerializeAsString() ? "" : "its architecture is different";
}

bool TakeTheSameInputs(const LoadedModel& version, const LoadedModel& other) {
  if (version.description == nullptr || other.description == nullptr) return false;
  return version.description->config().preprocessing().SerializeAsString() ==
         other.description->config().preprocessing().SerializeAsString();
}

}  // namespace vitrine
