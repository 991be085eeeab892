// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_PINS_H_
#define VITRINE_PUBLISH_PINS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "repository/repository.h"
#include "vitrine/v1/serving.pb.h"

namespace vitrine {

// What servers need of a repository, as their files of --serving-config and --admin-state say.
class Pins {
 public:
  // Reads either file; an empty path is none. INVALID_ARGUMENT names file, line and fault; NOT_FOUND the file.
  static absl::StatusOr<Pins> Read(const std::string& serving_config, const std::string& admin_state);

  // Why a version must stay: 'label "stable"', "a share of the traffic", ...; nullopt where nothing names it.
  std::optional<std::string> Why(const VersionId& id) const;
  // True if servers do not count a version among the newest: it is tried out, with a share of the traffic or as
  // `canary`, or it was put away. What the admin state says of traffic and labels replaces the file's.
  bool IsApart(const VersionId& id) const { return apart_.contains(id); }
  // How many of the newest versions of a model are served; nullopt: all of them.
  std::optional<int64_t> Latest(const std::string& model) const;

 private:
  void Add(const std::string& model, int64_t version, const std::string& why) { named_[{model, version}] = why; }
  void AddPolicy(const std::string& model, const v1::VersionPolicy& policy);

  std::map<VersionId, std::string> named_;
  std::set<VersionId> apart_;
  std::map<std::string, v1::VersionPolicy> policies_;
  v1::VersionPolicy default_policy_;
};

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_PINS_H_
