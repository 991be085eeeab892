// SPDX-License-Identifier: Apache-2.0
#include "models/repository/wrong_folder.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "models/repository/files/text.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"
#include "models/repository/repository.h"
#include "models/repository/safe_file.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Maximum number of folders to inspect, and of names in a sentence.
constexpr size_t kMostFolders = 256;
constexpr size_t kMostNames = 3;

// Returns the names of entries of this kind, sorted; none if the folder cannot be read.
std::vector<std::string> Entries(const fs::path& path, EntryKind kind) {
  std::vector<std::string> names;
  const absl::StatusOr<FileDescriptor> folder = OpenFolder(path);
  if (!folder.ok()) return names;
  ForEachEntry(*folder, [&](const std::string& name) {
    if (KindOf(*folder, name) == kind) names.push_back(name);
  }).IgnoreError();
  std::sort(names.begin(), names.end());
  return names;
}

// Joins at most kMostNames of the names: "a, b, c".
std::string JoinNames(std::vector<std::string> names) {
  if (names.size() > kMostNames) names.resize(kMostNames);
  return absl::StrJoin(names, ", ");
}

bool IsSource(const std::string& name) {
  static const std::set<std::string_view> kNames = {"CMakeLists.txt", "Makefile", "pyproject.toml", "setup.py"};
  static const std::set<std::string_view> kEndings = {".c", ".cc", ".cpp", ".h", ".hpp", ".py", ".cmake"};
  return kNames.contains(name) || kEndings.contains(fs::path(name).extension().string());
}

std::vector<std::string> Sources(const fs::path& root) {
  std::vector<std::string> names = Entries(root, EntryKind::kFile);
  std::erase_if(names, [](const std::string& name) { return !IsSource(name); });
  return names;
}

bool HoldsManifest(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kManifestFile, error);
}

bool IsModel(const fs::path& folder) {
  const std::vector<std::string> folders = Entries(folder, EntryKind::kFolder);
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& name) {
    return ParseVersion(name).has_value() && HoldsManifest(folder / name);
  });
}

// Returns the subfolders that are repositories.
std::vector<std::string> Repositories(const fs::path& root) {
  std::vector<std::string> names = Entries(root, EntryKind::kFolder);
  if (names.size() > kMostFolders) names.resize(kMostFolders);
  std::erase_if(names, [&](const std::string& name) {
    const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(root / name);
    return !versions.ok() || versions->empty();
  });
  return names;
}

bool IsEmpty(const fs::path& root) {
  std::error_code error;
  return fs::is_empty(root, error);
}

// If `root` is the complete copy of a remote repository without versions, returns the address of the remote repository.
// Otherwise returns "".
std::string EmptySource(const fs::path& root) {
  std::ifstream file(root / kPullFolder / kRefreshedFile);
  std::string line;
  constexpr std::string_view kNone = "0 versions of ";
  return std::getline(file, line) && line.starts_with(kNone) ? line.substr(kNone.size()) : "";
}

}  // namespace

std::string ExplainNoVersions(const fs::path& root) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(root, error);
  const auto quoted = [](const fs::path& folder) { return Quoted(folder.native()); };
  const std::string repository = absl::StrCat("repository ", quoted(root), " ");
  if (HoldsManifest(path)) {
    return absl::StrCat(repository, "is the folder of one version of a model; name the folder two levels up, ",
                        quoted(path.parent_path().parent_path()));
  }
  if (IsModel(path)) {
    return absl::StrCat(repository, "is the folder of one model; name the folder above it, ",
                        quoted(path.parent_path()));
  }
  if (const std::vector<std::string> inner = Repositories(path); !inner.empty()) {
    return absl::StrCat(repository, "contains repositories, but is not one (", JoinNames(inner),
                        "); name one of them, for instance ", quoted(root / inner.front()));
  }
  if (const absl::StatusOr<Listing> listing = ListRepository(path); listing.ok() && !listing->links.empty()) {
    return absl::StrCat(repository, "has versions only behind symbolic links: ", PassedOver(listing->links.front()));
  }
  if (const std::vector<std::string> sources = Sources(path); !sources.empty()) {
    return absl::StrCat(repository, "is a folder of source code (", JoinNames(sources),
                        ") and has no model; name the folder with <model>/<version>/");
  }
  if (const auto folders = ListVersionFolders(path); folders.ok() && !folders->empty()) {
    return absl::StrCat(repository, "has no complete version: ", folders->front().model, "/", folders->front().version,
                        " lacks ", kManifestFile, "; it may have been copied incompletely");
  }
  if (const std::string source = EmptySource(path); !source.empty()) {
    return absl::StrCat(repository, "is a copy of ", Quoted(source), ", which has no version; check the address");
  }
  return absl::StrCat(repository, IsEmpty(path) ? "is empty" : "holds no <model>/<version>/",
                      "; publish a model in it (vitrine-repo, vitrine-train) or name a folder that has models");
}

absl::Status CheckNotSources(const fs::path& root) {
  const std::vector<std::string> sources = Sources(root);
  if (sources.empty()) return absl::OkStatus();
  const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(root);
  if (versions.ok() && !versions->empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("repository ", Quoted(root.native()),
                                                    " is a folder of source code (", JoinNames(sources),
                                                    "); name a folder for models, which is created if missing"));
}

}  // namespace vitrine
