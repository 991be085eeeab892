// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_PINS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_PINS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/repository/repository.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// Versions that servers need from a repository, according to the files of --serving-config and --admin-state.
class Pins {
 public:
  // Reads the two files; skips an empty path. INVALID_ARGUMENT names file, line and error; NOT_FOUND names the file.
  static absl::StatusOr<Pins> Read(const std::string& serving_config, const std::string& admin_state);

  // Returns why a version must be kept: 'label "stable"', "a share of the traffic", ...; nullopt if no file names it.
  std::optional<std::string> Why(const VersionId& id) const;
  // Returns true for a version that was rolled back or unloaded. Also returns true for a canary, or a version with a
  // share of the traffic, that lacks the label `stable`. Servers may load an older version in addition to a version for
  // which IsApart is true. The admin state's traffic replaces the serving config's traffic. A label in both files has
  // the version that the admin state gives.
  bool IsApart(const VersionId& id) const { return apart_.contains(id); }
  // Returns a sentence for each model or version that a file names but `present` lacks, because a misspelled name
  // protects no version.
  std::vector<std::string> Absent(const std::vector<VersionId>& present) const;
  // Returns how many of the newest versions a model's policy loads: 1 without a policy or for a policy that lists
  // versions; nullopt if the policy loads all versions.
  std::optional<int64_t> Latest(const std::string& model) const;

 private:
  void Add(const std::string& model, int64_t version, const std::string& why) { named_[{model, version}] = why; }
  void AddPolicy(const std::string& model, const v1::VersionPolicy& policy);

  std::set<std::string> models_;  // models that have a row in a file
  std::map<VersionId, std::string> named_;
  std::set<VersionId> apart_;
  std::map<std::string, v1::VersionPolicy> policies_;
  v1::VersionPolicy default_policy_;
};

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_PINS_H_
