// SPDX-License-Identifier: Apache-2.0
#include "models/repository/selection.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/names.h"
#include "models/repository/wrong_folder.h"

namespace vitrine {
namespace {

// Returns the error for a missing model name. It lists the models, or explains why there are none.
absl::Status WhichModel(const std::string& repository, const std::vector<VersionId>& all) {
  std::set<std::string> models;
  for (const VersionId& id : all) models.insert(id.model);
  if (models.empty()) return absl::NotFoundError(ExplainNoVersions(repository));
  return absl::InvalidArgumentError(
      absl::StrCat("name one model, as MODEL or MODEL@VERSION; ", repository, " has ", absl::StrJoin(models, ", ")));
}

}  // namespace

absl::StatusOr<Selection> ParseSelection(const std::string& which) {
  if (which.empty()) return Selection();
  const size_t at = which.find('@');
  Selection selection = {which.substr(0, at), std::nullopt};
  RETURN_IF_ERROR(ValidateModelName(selection.model));
  if (at != std::string::npos) {
    selection.version = ParseVersion(which.substr(at + 1));
    if (!selection.version.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the version after \"@\" must be a positive integer, as in ", selection.model, "@3"));
    }
  }
  return selection;
}

absl::StatusOr<VersionId> FindOneVersion(const std::string& repository, const std::string& which) {
  ASSIGN_OR_RETURN(const Selection selection, ParseSelection(which));
  if (selection.version.has_value()) {
    const std::filesystem::path root = repository, version = absl::StrCat(selection.model, "/", *selection.version);
    std::error_code error;
    if (std::filesystem::is_directory(root, error) && !std::filesystem::exists(root / version, error) && !error) {
      return absl::NotFoundError(absl::StrCat(version.native(), ": there is no such version; `vitrine-repo list ",
                                              repository, "` lists the versions"));
    }
    return VersionId{selection.model, *selection.version};
  }
  ASSIGN_OR_RETURN(const std::vector<VersionId> all, ListVersions(repository));
  if (selection.model.empty()) return WhichModel(repository, all);
  VersionId newest;
  for (const VersionId& id : all) {
    if (id.model == selection.model) newest = id;
  }
  if (newest.version == 0) return NoSuchModel(repository, selection.model);
  return newest;
}

absl::Status NoSuchModel(const std::string& repository, const std::string& model) {
  return absl::NotFoundError(absl::StrCat("no version of ", model, " in ", repository, "; `vitrine-repo list ",
                                          repository, "` lists its versions"));
}

}  // namespace vitrine
