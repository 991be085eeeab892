// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remote/mirror.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/charts/progress_display.h"
#include "common/file/process_lock.h"
#include "common/file/replace.h"
#include "common/join_faults.h"
#include "common/status_macros.h"
#include "models/repository/listed_file.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"
#include "models/repository/safe_file.h"
#include "models/repository/temporary_folder.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

std::string NameOf(const VersionId& id) {
  return absl::StrCat(id.model, "/", id.version);
}

int64_t BytesOf(const v1::Manifest& manifest) {
  int64_t bytes = 0;
  for (const v1::FileDigest& file : manifest.files()) bytes += file.bytes();
  return bytes;
}

absl::Status SyncFolder(const fs::path& path) {
  ASSIGN_OR_RETURN(const FileDescriptor folder, OpenFolder(path));
  return SyncToDisk(folder, path.native());
}

absl::Status MakeFolders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? FileError(error.value(), path.native()) : absl::OkStatus();
}

// Versions in the folder whose files all have the sizes that the manifest lists. A server checks the digests when it
// loads a version.
class Copies {
 public:
  explicit Copies(const fs::path& root) : root_(root) {}

  absl::Status Read() {
    ASSIGN_OR_RETURN(const std::vector<VersionId> ids, ListVersions(root_));
    for (const VersionId& id : ids) {
      absl::StatusOr<v1::Manifest> manifest = ReadManifest(root_, id);
      if (manifest.ok() && HasFiles(id, *manifest)) manifests_[id] = *std::move(manifest);
    }
    return absl::OkStatus();
  }

  const std::map<VersionId, v1::Manifest>& manifests() const { return manifests_; }
  void Add(const VersionId& id, v1::Manifest manifest) { manifests_[id] = std::move(manifest); }
  void Remove(const VersionId& id) { manifests_.erase(id); }

  int64_t bytes() const {
    int64_t bytes = 0;
    for (const auto& [id, manifest] : manifests_) bytes += BytesOf(manifest);
    return bytes;
  }
  // Returns the total size in bytes of the versions that are among `ids`.
  int64_t BytesAmong(const std::set<VersionId>& ids) const {
    int64_t bytes = 0;
    for (const auto& [id, manifest] : manifests_) bytes += ids.contains(id) ? BytesOf(manifest) : 0;
    return bytes;
  }

  // If a version in the folder has a file with the digest of `wanted`, links this file to `into`, so that it is not
  // downloaded again.
  void Link(const v1::FileDigest& wanted, const fs::path& into) const {
    for (const auto& [id, manifest] : manifests_) {
      for (const v1::FileDigest& file : manifest.files()) {
        if (file.sha256() != wanted.sha256()) continue;
        const fs::path from = root_ / id.model / absl::StrCat(id.version) / file.name();
        if (link(from.c_str(), into.c_str()) == 0 || errno == EEXIST) return;
      }
    }
  }

 private:
  bool HasFiles(const VersionId& id, const v1::Manifest& manifest) const {
    const absl::StatusOr<FileDescriptor> folder = OpenFolder(root_ / id.model / absl::StrCat(id.version));
    return folder.ok() && std::all_of(manifest.files().begin(), manifest.files().end(),
                                      [&](const v1::FileDigest& file) { return ListedFile::Open(*folder, file).ok(); });
  }

  const fs::path root_;
  std::map<VersionId, v1::Manifest> manifests_;
};

// Returns true if the folder is a copy of the source, complete or not (see kRefreshedFile).
bool HasCopy(const PullOptions& options) {
  std::ifstream file(fs::path(options.folder) / kPullFolder / kRefreshedFile);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return absl::EndsWith(text, absl::StrCat(" of ", options.source, "\n"));
}

class Refresh {
 public:
  Refresh(RemoteStore& store, const PullOptions& options, DamagedVersions& damaged)
      : store_(store),
        options_(options),
        damaged_(damaged),
        root_(options.folder),
        pull_(root_ / kPullFolder),
        copies_(root_) {}

  absl::Status Run() {
    damaged_.only_known = false;
    std::error_code ignored;
    if (options_.remove && !fs::exists(pull_, ignored)) RETURN_IF_ERROR(CheckNothingElse());
    RETURN_IF_ERROR(MakeFolders(pull_));
    absl::StatusOr<FileDescriptor> lock = LockForProcess(pull_ / "lock");
    if (absl::IsAlreadyExists(lock.status())) {
      return absl::AbortedError(absl::StrCat(root_.native(), " is being refreshed: ", lock.status().message()));
    }
    if (!absl::IsUnimplemented(lock.status())) RETURN_IF_ERROR(lock.status());
    ASSIGN_OR_RETURN(std::vector<VersionId> remote, store_.List());
    listed_ = {remote.begin(), remote.end()};
    if (std::exchange(damaged_.listed, listed_) != listed_) damaged_.found.clear();
    RETURN_IF_ERROR(copies_.Read());
    SortByAge(remote);
    std::vector<absl::Status> faults, known;
    bool is_unavailable = false;
    for (const VersionId& id : remote) {
      if (copies_.manifests().contains(id)) continue;
      bool is_known = false;
      const absl::Status fetched = Fetch(id, is_known);
      if (!fetched.ok()) (is_known ? known : faults).push_back(Prefixed(id, fetched));
      is_unavailable = absl::IsUnavailable(fetched);
      if (is_unavailable) break;
    }
    if (!faults.empty() || !known.empty()) {
      if (!is_unavailable) faults.push_back(HasCopy(options_) ? RemoveReplaced() : KeepPart());
      const absl::Status joined = JoinFaults(faults);
      damaged_.only_known = joined.ok();
      return joined.ok() ? JoinFaults(known) : joined;
    }
    if (options_.remove) RETURN_IF_ERROR(RemoveRetired(listed_));
    DropUnneeded();
    if (remote.empty()) {
      std::cerr << "vitrine-repo: " << options_.source << " has no version; check the address" << std::endl;
    }
    return ReplaceFile(pull_ / kRefreshedFile, absl::StrCat(remote.size(), " versions of ", options_.source, "\n"));
  }

 private:
  // Checks that a folder without an earlier pull has only versions of the source, because `remove` deletes all other
  // versions.
  absl::Status CheckNothingElse() {
    std::error_code error;
    if (!fs::exists(root_, error)) return error ? FileError(error.value(), root_.native()) : absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<VersionId> ids, ListVersionFolders(root_));
    if (ids.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<VersionId> remote, store_.List());
    for (const VersionId& id : ids) {
      if (std::count(remote.begin(), remote.end(), id) != 0) continue;
      return absl::FailedPreconditionError(absl::StrCat(root_.native(), " holds versions that were not pulled from ",
                                                        options_.source, ", such as ", NameOf(id),
                                                        ", and --delete would remove them; name an empty folder"));
    }
    return absl::OkStatus();
  }

  static absl::Status Prefixed(const VersionId& id, const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(NameOf(id), ": ", status.message()));
  }

  // Sorts so that the newest version of every model comes first, then the second newest of every model, ...
  static void SortByAge(std::vector<VersionId>& ids) {
    std::sort(ids.begin(), ids.end(), [](const VersionId& a, const VersionId& b) {
      return std::pair(a.model, -a.version) < std::pair(b.model, -b.version);
    });
    std::map<VersionId, int> age;
    std::map<std::string, int> versions;
    for (const VersionId& id : ids) age[id] = versions[id.model]++;
    std::stable_sort(ids.begin(), ids.end(), [&](const VersionId& a, const VersionId& b) { return age[a] < age[b]; });
  }

  // Fetches a version. Sets `is_known` if the version is damaged and an earlier refresh returned the same error.
  absl::Status Fetch(const VersionId& id, bool& is_known) {
    ASSIGN_OR_RETURN(const std::string text, store_.ReadManifest(id));
    DamagedVersions::Damage damage;
    if (const auto found = damaged_.found.find(id); found != damaged_.found.end()) damage = found->second;
    is_known = damage.manifest == text;
    if (is_known && damage.is_confirmed) return damage.fault;
    const absl::Status fetched = Fetch(id, text);
    is_known = is_known && damage.fault == fetched;
    damaged_.found.erase(id);
    if (absl::IsDataLoss(fetched)) damaged_.found[id] = {text, fetched, /*is_confirmed=*/is_known};
    return fetched;
  }

  absl::Status Fetch(const VersionId& id, const std::string& text) {
    absl::StatusOr<v1::Manifest> manifest = ParseManifest(text);
    const absl::Status valid = manifest.ok() ? ValidateManifest(*manifest) : manifest.status();
    if (!valid.ok()) return absl::FailedPreconditionError(absl::StrCat(kManifestFile, ": ", valid.message()));
    if (manifest->model() != id.model || manifest->version() != id.version) {
      return absl::FailedPreconditionError(
          absl::StrCat(kManifestFile, " belongs to ", manifest->model(), "/", manifest->version()));
    }
    RETURN_IF_ERROR(MakeRoom(*manifest));
    const fs::path stage = pull_ / absl::StrCat(id.model, "-", id.version);
    RETURN_IF_ERROR(MakeFolders(stage));
    RETURN_IF_ERROR(FetchFiles(id, *manifest, stage));
    RETURN_IF_ERROR(ReplaceFile(stage / kManifestFile, text));
    RETURN_IF_ERROR(SyncFolder(stage));
    RETURN_IF_ERROR(Install(id, stage));
    std::cout << absl::StrFormat("pulled %s (%.1f MB)", NameOf(id), static_cast<double>(BytesOf(*manifest)) / 1e6)
              << std::endl;
    copies_.Add(id, *std::move(manifest));
    return absl::OkStatus();
  }

  // Returns OK if the copy has room for the version. With `remove`, first removes the versions that the source no
  // longer has, if their removal is needed and makes enough room. Otherwise a full copy could never get new versions.
  absl::Status MakeRoom(const v1::Manifest& manifest) {
    const int64_t has = copies_.bytes(), needs = BytesOf(manifest);
    if (options_.most_bytes == 0 || has + needs <= options_.most_bytes) return absl::OkStatus();
    if (options_.remove && copies_.BytesAmong(listed_) + needs <= options_.most_bytes) return RemoveRetired(listed_);
    return absl::ResourceExhaustedError(
        absl::StrCat("needs ", needs, " bytes beside the ", has, " of other versions, but the copy may have ",
                     options_.most_bytes, " (--max-bytes); raise the limit, or remove versions from the source",
                     options_.remove ? "" : " and use --delete"));
  }

  absl::Status FetchFiles(const VersionId& id, const v1::Manifest& manifest, const fs::path& stage) {
    std::set<std::string> listed = {kManifestFile};
    const bool is_terminal = isatty(STDERR_FILENO) != 0;
    std::ostream nothing(nullptr);
    ProgressDisplay display(is_terminal ? std::cerr : nothing, {.is_terminal = is_terminal});
    for (const v1::FileDigest& file : manifest.files()) {
      listed.insert(file.name());
      copies_.Link(file, stage / file.name());
      RETURN_IF_ERROR(vitrine::Fetch(store_.DownloadOf(id, file, stage / file.name()), display));
    }
    // An interrupted pull of an earlier manifest of this version may have left files that this manifest does not list.
    std::vector<fs::path> others;
    std::error_code error;
    for (fs::directory_iterator entry(stage, error), end; !error && entry != end; entry.increment(error)) {
      if (!listed.contains(entry->path().filename())) others.push_back(entry->path());
    }
    for (const fs::path& other : others) fs::remove_all(other, error);
    return error ? FileError(error.value(), stage.native()) : absl::OkStatus();
  }

  // Moves a complete version to its place. First removes a damaged version at that place.
  absl::Status Install(const VersionId& id, const fs::path& stage) {
    const fs::path model = root_ / id.model, place = model / absl::StrCat(id.version);
    RETURN_IF_ERROR(MakeFolders(model));
    RETURN_IF_ERROR(SyncFolder(root_));
    std::error_code ignored;
    if (fs::exists(place, ignored)) RETURN_IF_ERROR(RemoveVersion(root_, id));
    if (rename(stage.c_str(), place.c_str()) != 0) return FileError(errno, place.native());
    RETURN_IF_ERROR(SyncFolder(model));
    return SyncFolder(pull_);
  }

  absl::Status RemoveRetired(const std::set<VersionId>& kept) {
    if (kept.empty() && !copies_.manifests().empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(options_.source, " has no version at all, so none is removed here; check the address"));
    }
    ASSIGN_OR_RETURN(const std::vector<VersionId> ids, ListVersionFolders(root_));
    for (const VersionId& id : ids) {
      if (kept.contains(id)) continue;
      RETURN_IF_ERROR(RemoveVersion(root_, id));
      copies_.Remove(id);
      std::cout << "removed " << NameOf(id) << std::endl;
    }
    return absl::OkStatus();
  }

  // Removes versions that the source no longer has. Called after a version could not be fetched, because that version
  // may need the space. Keeps all complete versions of a model if the source has none of them any more.
  absl::Status RemoveReplaced() {
    if (!options_.remove) return absl::OkStatus();
    std::set<VersionId> kept = listed_;
    std::set<std::string> models;
    for (const VersionId& id : listed_) {
      if (copies_.manifests().contains(id)) models.insert(id.model);
    }
    for (const auto& [id, manifest] : copies_.manifests()) {
      if (!models.contains(id.model)) kept.insert(id);
    }
    return RemoveRetired(kept);
  }

  // Marks the folder as a copy, although versions are missing. Does so only if the source still returns the manifest of
  // a version that was copied.
  absl::Status KeepPart() {
    const auto here = std::find_if(listed_.begin(), listed_.end(),
                                   [this](const VersionId& id) { return copies_.manifests().contains(id); });
    // If the source does not return this manifest either, the cause may be expired credentials, not damaged versions.
    // The folder is then not marked.
    if (here == listed_.end() || !store_.ReadManifest(*here).ok()) return absl::OkStatus();
    if (options_.remove) RETURN_IF_ERROR(RemoveRetired(listed_));
    return ReplaceFile(pull_ / kRefreshedFile, absl::StrCat("part of ", options_.source, "\n"));
  }

  // Removes all unfinished downloads. Called after all versions of the source were fetched, so these downloads belong
  // to versions that the source no longer has.
  void DropUnneeded() const {
    std::error_code ignored;
    for (fs::directory_iterator entry(pull_, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
      if (entry->is_directory(ignored)) fs::remove_all(entry->path(), ignored);
    }
  }

  RemoteStore& store_;
  const PullOptions& options_;
  DamagedVersions& damaged_;
  const fs::path root_, pull_;
  std::set<VersionId> listed_;  // versions of the source
  Copies copies_;
};

}  // namespace

absl::Status RefreshMirror(RemoteStore& store, const PullOptions& options, DamagedVersions& damaged) {
  return Refresh(store, options, damaged).Run();
}

absl::Duration RefreshWait(absl::Duration interval, bool has_copy, int failures, double chance) {
  if (!has_copy) interval = absl::Milliseconds(500);
  const absl::Duration longest = std::max(interval, absl::Minutes(2));
  absl::Duration wait = interval;
  for (int i = 0; i < failures && wait < longest; ++i) wait *= 2;
  return std::min(wait, longest) * (0.9 + 0.2 * chance);
}

absl::Status PullCommand(const PullOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RemoteStore> store, OpenRemote(options.source, options.endpoint, {}));
  DamagedVersions damaged;
  if (options.watch_seconds <= 0) return RefreshMirror(*store, options, damaged);
  std::minstd_rand random(std::random_device{}());
  for (int failures = 0;;) {
    const absl::Status refreshed = RefreshMirror(*store, options, damaged);
    failures = refreshed.ok() ? 0 : failures + 1;
    const double chance = std::uniform_real_distribution<>(0, 1)(random);
    const absl::Duration wait = RefreshWait(absl::Seconds(options.watch_seconds), HasCopy(options), failures, chance);
    if (!refreshed.ok() && !damaged.only_known) {
      // Prints the errors in one line, because a server logs each line separately.
      std::cerr << "vitrine-repo: " << absl::StrReplaceAll(refreshed.message(), {{"\n", "; "}})
                << "; the next attempt is in " << absl::FormatDuration(absl::Trunc(wait, absl::Milliseconds(100)))
                << std::endl;
    }
    absl::SleepFor(wait);
  }
}

}  // namespace vitrine
