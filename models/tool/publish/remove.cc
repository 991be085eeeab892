// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remove.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/tool/publish/pins.h"

namespace vitrine {
namespace {

std::string NameOf(const VersionId& id) {
  return absl::StrCat(id.model, "/", id.version);
}

// Asks for confirmation on the terminal. Returns an error if stdin is not a terminal.
absl::Status Confirm(size_t versions) {
  if (isatty(STDIN_FILENO) == 0) {
    return absl::FailedPreconditionError(
        "nothing was removed: stdin is not a terminal; --yes removes without confirmation, --dry-run only prints the "
        "versions");
  }
  std::cerr << "remove " << versions << (versions == 1 ? " version" : " versions") << " permanently? [y/N] ";
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return absl::OkStatus();
  return absl::CancelledError("nothing was removed");
}

absl::Status RemoveAll(const RemoveOptions& options, const std::vector<VersionId>& versions) {
  if (options.serving_config.empty() && options.admin_state.empty()) {
    std::cerr << "without --serving-config and --admin-state, labels and policies of servers are not checked\n";
  }
  if (versions.empty()) {
    std::cout << "nothing to remove\n";
    return absl::OkStatus();
  }
  if (options.dry_run || !options.yes) {
    for (const VersionId& id : versions) std::cout << "would be removed  " << NameOf(id) << "\n";
  }
  if (options.dry_run) return absl::OkStatus();
  std::cout << std::flush;
  if (!options.yes) RETURN_IF_ERROR(Confirm(versions.size()));
  for (const VersionId& id : versions) {
    RETURN_IF_ERROR(RemoveVersion(options.repository, id));
    std::cout << "removed  " << NameOf(id) << std::endl;
  }
  return absl::OkStatus();
}

void TellAbsent(const Pins& pins, const std::vector<VersionId>& present) {
  for (const std::string& sentence : pins.Absent(present)) std::cerr << sentence << "\n";
}

void TellKept(const VersionId& id, const std::string& why) {
  std::cerr << "kept  " << NameOf(id) << ": " << why << "\n";
}

// Returns the versions of one model that PruneCommand removes.
std::vector<VersionId> VersionsToPrune(const RemoveOptions& options, const Pins& pins, std::vector<int64_t> versions,
                                       const std::string& model) {
  const std::optional<int64_t> latest = pins.Latest(model);
  std::vector<VersionId> superfluous;
  if (!latest.has_value()) {
    std::cerr << "kept  " << model << ": its policy serves every version\n";
    return superfluous;
  }
  const int64_t keep = std::max<int64_t>(options.keep, *latest);
  int64_t good = 0;
  std::sort(versions.rbegin(), versions.rend());
  for (const int64_t version : versions) {
    const VersionId id{model, version};
    if (good >= keep) {
      const std::optional<std::string> why = pins.Why(id);
      if (why.has_value()) TellKept(id, absl::StrCat(*why, " names it"));
      if (!why.has_value()) superfluous.push_back(id);
      continue;
    }
    const absl::Status read = ReadVersion(options.repository, id).status();
    const bool apart = pins.IsApart(id);
    good += read.ok() && !apart ? 1 : 0;
    if (!read.ok())
      TellKept(id, absl::StrCat("it is not counted: newer than a good version, but not good: ", read.message()));
    if (read.ok() && apart) TellKept(id, "it is not counted among the newest: it is a canary or was put away");
  }
  return superfluous;
}

}  // namespace

absl::Status RemoveCommand(const RemoveOptions& options) {
  ASSIGN_OR_RETURN(const Selection selection, ParseSelection(options.which));
  ASSIGN_OR_RETURN(const Pins pins, Pins::Read(options.serving_config, options.admin_state));
  ASSIGN_OR_RETURN(const std::vector<VersionId> folders, ListVersionFolders(options.repository));
  TellAbsent(pins, folders);
  std::vector<VersionId> versions;
  std::copy_if(folders.begin(), folders.end(), std::back_inserter(versions), [&](const VersionId& id) {
    return id.model == selection.model && selection.version.value_or(id.version) == id.version;
  });
  if (versions.empty()) {
    if (!selection.version.has_value()) return NoSuchModel(options.repository, selection.model);
    return absl::NotFoundError(absl::StrCat(selection.model, "/", *selection.version,
                                            ": there is no such version; see ", "`vitrine-repo list ",
                                            options.repository, "`"));
  }
  for (const VersionId& id : versions) {
    if (const std::optional<std::string> why = pins.Why(id); why.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(NameOf(id), " is in use, nothing was removed: ", *why, " names it; remove that first"));
    }
  }
  return RemoveAll(options, versions);
}

absl::Status PruneCommand(const RemoveOptions& options) {
  ASSIGN_OR_RETURN(const Pins pins, Pins::Read(options.serving_config, options.admin_state));
  if (!options.which.empty()) RETURN_IF_ERROR(ValidateModelName(options.which));
  ASSIGN_OR_RETURN(const Listing listing, ListRepository(options.repository));
  RETURN_IF_ERROR(listing.status());
  TellAbsent(pins, listing.versions);
  std::map<std::string, std::vector<int64_t>> models;
  for (const VersionId& id : listing.versions) {
    if (options.which.empty() || id.model == options.which) models[id.model].push_back(id.version);
  }
  if (models.empty() && !options.which.empty()) return NoSuchModel(options.repository, options.which);
  std::vector<VersionId> versions;
  for (const auto& [model, numbers] : models) {
    const std::vector<VersionId> superfluous = VersionsToPrune(options, pins, numbers, model);
    versions.insert(versions.end(), superfluous.begin(), superfluous.end());
  }
  return RemoveAll(options, versions);
}

}  // namespace vitrine
