// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/pins.h"

#include <google/protobuf/text_format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/byte_order_mark.h"
#include "common/first_error.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

absl::Status ReadText(const std::string& path, google::protobuf::Message& message) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::NotFoundError(absl::StrCat(path, ": is a folder; give the file that the server reads"));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(std::string(WithoutByteOrderMark(text)), &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", error.message()));
}

// Versions of a model that have labels or a share of the traffic.
struct Named {
  std::map<std::string, int64_t> labels;
  std::set<int64_t> shares;
};

void SetShares(const google::protobuf::RepeatedPtrField<v1::TrafficShare>& traffic, Named& named) {
  named.shares.clear();
  for (const v1::TrafficShare& share : traffic) {
    if (share.percent() > 0) named.shares.insert(share.version());
  }
}

// Returns the canaries of a server: versions that have the label `canary` or a share of the traffic, and are not
// `stable`.
std::set<int64_t> ActiveCanaries(const Named& named) {
  std::set<int64_t> versions = named.shares;
  if (const auto canary = named.labels.find("canary"); canary != named.labels.end()) versions.insert(canary->second);
  if (const auto stable = named.labels.find("stable"); stable != named.labels.end()) versions.erase(stable->second);
  return versions;
}

}  // namespace

void Pins::AddPolicy(const std::string& model, const v1::VersionPolicy& policy) {
  policies_[model] = policy;
  for (const int64_t version : policy.specific().versions()) Add(model, version, "the version policy");
}

absl::StatusOr<Pins> Pins::Read(const std::string& serving_config, const std::string& admin_state) {
  Pins pins;
  v1::ServingConfig config;
  if (!serving_config.empty()) RETURN_IF_ERROR(ReadText(serving_config, config));
  pins.default_policy_ = config.default_policy();
  std::map<std::string, Named> models;
  for (const v1::ModelServing& row : config.models()) {
    pins.models_.insert(row.model());
    if (row.has_version_policy()) pins.AddPolicy(row.model(), row.version_policy());
    for (const v1::VersionPrecision& of : row.version_precisions()) pins.Add(row.model(), of.version(), "a precision");
    Named& named = models[row.model()];
    SetShares(row.traffic(), named);
    for (const v1::TrafficShare& share : row.traffic()) {
      pins.Add(row.model(), share.version(), "a share of the traffic");
    }
    for (const v1::VersionLabel& label : row.labels()) {
      named.labels[label.label()] = label.version();
      pins.Add(row.model(), label.version(), absl::StrCat("label ", Quoted(label.label())));
    }
  }
  v1::AdminState state;
  if (!admin_state.empty()) RETURN_IF_ERROR(ReadText(admin_state, state));
  for (const v1::ModelOverride& row : state.models()) {
    pins.models_.insert(row.model());
    if (row.has_version_policy()) pins.AddPolicy(row.model(), row.version_policy());
    for (const int64_t version : row.loaded()) pins.Add(row.model(), version, "the list of loaded versions");
    Named& named = models[row.model()];
    if (row.has_traffic()) SetShares(row.traffic().shares(), named);
    for (const v1::TrafficShare& share : row.traffic().shares()) {
      pins.Add(row.model(), share.version(), "a share of the traffic");
    }
    for (const v1::VersionLabel& label : row.labels()) {
      named.labels[label.label()] = label.version();
      pins.Add(row.model(), label.version(), absl::StrCat("label ", Quoted(label.label())));
    }
    for (const v1::PutAway& away : row.put_away()) pins.apart_.insert({row.model(), away.version()});
  }
  for (const auto& [model, named] : models) {
    for (const int64_t version : ActiveCanaries(named)) pins.apart_.insert({model, version});
  }
  return pins;
}

std::optional<std::string> Pins::Why(const VersionId& id) const {
  const auto named = named_.find(id);
  return named == named_.end() ? std::nullopt : std::optional(named->second);
}

std::vector<std::string> Pins::Absent(const std::vector<VersionId>& present) const {
  std::set<std::string> models;
  for (const VersionId& id : present) models.insert(id.model);
  std::vector<std::string> sentences;
  for (const std::string& model : models_) {
    if (models.contains(model)) continue;
    sentences.push_back(absl::StrCat("the servers' files name the model ", Quoted(model),
                                     ", which the repository does not have; a misspelled name protects nothing"));
  }
  const std::set<VersionId> versions(present.begin(), present.end());
  for (const auto& [id, why] : named_) {
    if (!models.contains(id.model) || versions.contains(id)) continue;
    sentences.push_back(
        absl::StrCat(why, " names ", id.model, "/", id.version, ", which the repository does not have"));
  }
  return sentences;
}

std::optional<int64_t> Pins::Latest(const std::string& model) const {
  const auto own = policies_.find(model);
  const v1::VersionPolicy& policy = own == policies_.end() ? default_policy_ : own->second;
  if (policy.all()) return std::nullopt;
  return policy.policy_case() == v1::VersionPolicy::kLatest ? policy.latest() : 1;
}

}  // namespace vitrine
