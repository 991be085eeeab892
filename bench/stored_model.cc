// SPDX-License-Identifier: Apache-2.0
#include "bench/stored_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint.h"
#include "repository/stored_version.h"

namespace vitrine {

absl::StatusOr<std::shared_ptr<const Model>> ReadNewest(const std::string& repository, const std::string& model) {
  ASSIGN_OR_RETURN(const std::vector<VersionId> versions, ListVersions(repository));
  VersionId newest;
  for (const VersionId& id : versions) {
    if (id.model == model && id.version > newest.version) newest = id;
  }
  if (newest.version == 0) return absl::NotFoundError(absl::StrCat("no version of ", model, " in ", repository));
  ASSIGN_OR_RETURN(const StoredVersion stored, ReadVersion(repository, newest));
  ASSIGN_OR_RETURN(std::unique_ptr<Model> built, BuildModel(stored));
  return std::shared_ptr<const Model>(std::move(built));
}

}  // namespace vitrine
