// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/labels.h"
#include "models/repository/listed_file.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"
#include "models/repository/safe_file.h"
#include "models/repository/stored_version.h"
#include "models/repository/temporary_folder.h"
#include "models/repository/wrong_folder.h"

namespace vitrine {
namespace {

using Files = std::map<std::string, std::string>;  // bytes by file name

// Returns the files of the version, without the manifest.
absl::StatusOr<Files> FilesOf(const Draft& draft) {
  if (static_cast<int64_t>(draft.labels.size()) != draft.manifest.config().classes()) {
    return absl::FailedPreconditionError(
        absl::StrCat(draft.labels.size(), " labels for ", draft.manifest.config().classes(), " classes"));
  }
  Files files;
  ASSIGN_OR_RETURN(files[kWeightsFile], WriteSafetensors(draft.weights));
  ASSIGN_OR_RETURN(files[kGoldenFile], WriteSafetensors(draft.golden));
  RETURN_IF_ERROR(CheckFinite(draft.weights));
  RETURN_IF_ERROR(CheckFinite(draft.golden));
  ASSIGN_OR_RETURN(files[kLabelsFile], FormatLabels(draft.labels));
  for (const auto& [name, bytes] : draft.extra_files) {
    if (!files.emplace(name, bytes).second) {
      return absl::InvalidArgumentError(absl::StrCat("extra file ", Quoted(name), " has the name of another file"));
    }
  }
  return files;
}

// Returns the manifest with version number 1; the caller sets the final number.
absl::StatusOr<v1::Manifest> ManifestOf(const Draft& draft, const std::string& model, const Files& files) {
  v1::Manifest manifest = draft.manifest;
  manifest.set_model(model);
  manifest.set_version(1);
  manifest.clear_files();
  for (const auto& [name, bytes] : files) {
    v1::FileDigest& file = *manifest.add_files();
    file.set_name(name);
    file.set_sha256(Sha256Hex(bytes));
    file.set_bytes(static_cast<int64_t>(bytes.size()));
  }
  RETURN_IF_ERROR(ValidateManifest(manifest));
  return manifest;
}

absl::StatusOr<FileDescriptor> OpenOrCreateRoot(const std::filesystem::path& root) {
  std::error_code error;
  std::vector<std::filesystem::path> missing;
  std::filesystem::path path = std::filesystem::absolute(root, error).lexically_normal();
  for (; !error && !std::filesystem::exists(path, error); path = path.parent_path()) missing.push_back(path);
  if (!error) std::filesystem::create_directories(root, error);
  if (error) return FileError(error.value(), root.string());
  RETURN_IF_ERROR(CheckNotSources(root));
  for (const std::filesystem::path& made : missing) {
    ASSIGN_OR_RETURN(const FileDescriptor parent, OpenFolder(made.parent_path()));
    RETURN_IF_ERROR(SyncToDisk(parent, "the repository's parent folder"));
  }
  return OpenFolder(root);
}

// Opens the model's folder. Creates it and sets `created` if it did not exist.
absl::StatusOr<FileDescriptor> OpenOrCreateModel(const FileDescriptor& root, const std::string& model, bool& created) {
  created = mkdirat(root.get(), model.c_str(), 0777) == 0;
  if (!created && errno != EEXIST) return FileError(errno, "the model's folder");
  // Also syncs an existing folder, because its creator may have died before syncing.
  RETURN_IF_ERROR(SyncToDisk(root, "the repository"));
  return OpenBeneath(root, model);
}

// Calls `use` with the model's folder. Creates the folder if it is missing, and removes it again if it stays empty.
absl::Status InModelFolder(const FileDescriptor& root, const std::string& model,
                           const std::function<absl::Status(const FileDescriptor& folder)>& use) {
  constexpr int kAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    bool created = false;
    const absl::StatusOr<FileDescriptor> folder = OpenOrCreateModel(root, model, created);
    absl::Status status = folder.ok() ? use(*folder) : folder.status();
    if (created) unlinkat(root.get(), model.c_str(), AT_REMOVEDIR);  // fails if the folder is not empty
    // NOT_FOUND means that another process created the folder, and removed it while it was empty. The loop then tries
    // again.
    if (!absl::IsNotFound(status) || attempt == kAttempts) return status;
  }
}

// File with the highest version ever used, so that the number of a removed version is not reused. Otherwise the same
// number would mean two versions, for example to a server that still has the removed version loaded.
constexpr char kHighestFile[] = ".highest-version";

absl::StatusOr<int64_t> HighestGiven(const FileDescriptor& model_folder) {
  const absl::StatusOr<std::string> text = ReadFileBeneath(model_folder, kHighestFile, 64);
  if (absl::IsNotFound(text.status())) return 0;  // the model is new, or was published or copied without the file
  RETURN_IF_ERROR(text.status());
  const std::optional<int64_t> highest = ParseVersion(std::string(absl::StripSuffix(*text, "\n")));
  if (highest.has_value()) return *highest;
  return absl::FailedPreconditionError(
      absl::StrCat(kHighestFile, " holds ", Quoted(*text), "; it must be the highest number ever published"));
}

// Returns the highest number among that in kHighestFile and those of the version folders, complete or not.
absl::StatusOr<int64_t> HighestUsed(const FileDescriptor& model_folder) {
  ASSIGN_OR_RETURN(int64_t highest, HighestGiven(model_folder));
  RETURN_IF_ERROR(ForEachEntry(
      model_folder, [&](const std::string& name) { highest = std::max(highest, ParseVersion(name).value_or(0)); }));
  return highest;
}

absl::StatusOr<int64_t> NextVersion(const FileDescriptor& model_folder) {
  ASSIGN_OR_RETURN(const int64_t highest, HighestUsed(model_folder));
  if (highest == std::numeric_limits<int64_t>::max()) return absl::ResourceExhaustedError("no version number is left");
  return highest + 1;
}

absl::StatusOr<int64_t> WriteAndMove(const FileDescriptor& model_folder, const Files& files, v1::Manifest manifest) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::Create(model_folder));
  for (const auto& [name, bytes] : files) RETURN_IF_ERROR(folder->Write(name, bytes));
  constexpr int kAttempts = 1000;  // each failure means that another publisher succeeded
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ASSIGN_OR_RETURN(const int64_t version, NextVersion(model_folder));
    manifest.set_version(version);
    // Records the number first. If this process dies later, other publishers then skip the number and do not reuse it.
    RETURN_IF_ERROR(folder->ReplaceBeside(kHighestFile, absl::StrCat(version, "\n")));
    RETURN_IF_ERROR(folder->Write(kManifestFile, FormatManifest(manifest)));
    RETURN_IF_ERROR(folder->Sync());
    const absl::Status moved = folder->MoveTo(absl::StrCat(version));
    if (absl::IsAlreadyExists(moved)) continue;
    RETURN_IF_ERROR(moved);
    return version;
  }
  return absl::AbortedError("other publishers used each version number first; try again");
}

absl::Status CheckSpace(const FileDescriptor& folder, int64_t bytes) {
  struct statvfs disk;
  // Some file systems do not report free space. On such a file system, only publishing itself detects a full disk.
  if (fstatvfs(folder.get(), &disk) != 0 || disk.f_blocks == 0) return absl::OkStatus();
  const auto free = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (free >= static_cast<double>(bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("the disk has %.1f MB free, and a version takes about %.1f MB", free / 1e6, bytes / 1e6));
}

// Checks that WriteAndMove could write: writes a temporary folder, removes it, and checks the free space.
absl::Status TryTheFolder(const std::filesystem::path& root, const std::string& model, int64_t expected_bytes) {
  ASSIGN_OR_RETURN(const FileDescriptor root_folder, OpenOrCreateRoot(root));
  return InModelFolder(root_folder, model, [&](const FileDescriptor& model_folder) -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> folder, TemporaryFolder::Create(model_folder));
    RETURN_IF_ERROR(folder->Write("probe", "a disk may hold folders and no more bytes\n"));
    RETURN_IF_ERROR(folder->Sync());
    return CheckSpace(model_folder, expected_bytes);
  });
}

absl::Status NothingPublished(const std::filesystem::path& root, const std::string& model, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("nothing was published as ", model, " in ", Quoted(root.native()),
                                                  ": ", status.message()));
}

}  // namespace

absl::StatusOr<VersionId> Publish(const std::filesystem::path& root, const std::string& model, const Draft& draft) {
  RETURN_IF_ERROR(ValidateModelName(model));
  const absl::StatusOr<Files> files = FilesOf(draft);
  if (!files.ok()) return NothingPublished(root, model, files.status());
  const absl::StatusOr<v1::Manifest> manifest = ManifestOf(draft, model, *files);
  if (!manifest.ok()) return NothingPublished(root, model, manifest.status());
  const absl::StatusOr<FileDescriptor> root_folder = OpenOrCreateRoot(root);
  if (!root_folder.ok()) return NothingPublished(root, model, root_folder.status());
  int64_t version = 0;
  absl::Status synced;
  const absl::Status written = InModelFolder(*root_folder, model, [&](const FileDescriptor& folder) -> absl::Status {
    ASSIGN_OR_RETURN(version, WriteAndMove(folder, *files, *manifest));
    synced = SyncToDisk(folder, "the model's folder");
    return absl::OkStatus();
  });
  if (!written.ok()) return NothingPublished(root, model, written);
  if (!synced.ok()) {
    return absl::Status(
        synced.code(),
        absl::StrCat(model, "/", version, " is published, but may be lost in a power failure: ", synced.message()));
  }
  return VersionId{model, version};
}

absl::Status RemoveVersion(const std::filesystem::path& root, const VersionId& id) {
  RETURN_IF_ERROR(ValidateModelName(id.model));
  const std::string name = absl::StrCat(id.version);
  ASSIGN_OR_RETURN(const FileDescriptor root_folder, OpenFolder(root));
  ASSIGN_OR_RETURN(const FileDescriptor model_folder, OpenBeneath(root_folder, id.model));
  if (id.version < 1 || KindOf(model_folder, name) != EntryKind::kFolder) {
    return absl::NotFoundError(absl::StrCat(id.model, "/", name, ": there is no such version"));
  }
  absl::StatusOr<std::unique_ptr<TemporaryFolder>> made = TemporaryFolder::Create(model_folder);
  if (!made.ok()) {
    return absl::Status(made.status().code(), absl::StrCat(id.model, "/", name, " was not removed from ",
                                                           Quoted(root.native()), ": ", made.status().message()));
  }
  std::unique_ptr<TemporaryFolder> folder = *std::move(made);
  // After the removal of the version with the highest number, only kHighestFile has this number. So the number is
  // written first. Other versions are removed without a write, so that they can be removed from a full disk.
  ASSIGN_OR_RETURN(const int64_t highest, HighestUsed(model_folder));
  ASSIGN_OR_RETURN(const int64_t given, HighestGiven(model_folder));
  if (id.version == highest && given < highest) {
    RETURN_IF_ERROR(folder->ReplaceBeside(kHighestFile, absl::StrCat(highest, "\n")));
  }
  RETURN_IF_ERROR(folder->TakeIn(name));
  folder.reset();
  return SyncToDisk(model_folder, "the model's folder");
}

absl::Status LinkVersion(const std::filesystem::path& from, const VersionId& id, const std::filesystem::path& root,
                         const std::string& model) {
  RETURN_IF_ERROR(ValidateModelName(model));
  const std::string name = absl::StrCat(id.version);
  ASSIGN_OR_RETURN(v1::Manifest manifest, ReadManifest(from, id));
  ASSIGN_OR_RETURN(const FileDescriptor version, OpenFolder(from / id.model / name));
  manifest.set_model(model);
  ASSIGN_OR_RETURN(const FileDescriptor root_folder, OpenOrCreateRoot(root));
  return InModelFolder(root_folder, model, [&](const FileDescriptor& folder) -> absl::Status {
    if (const absl::StatusOr<FileDescriptor> present = OpenBeneath(folder, name); present.ok()) {
      const auto is_whole = [&](const v1::FileDigest& file) { return ListedFile::Open(*present, file).ok(); };
      const bool has_manifest = ReadManifest(root, {model, id.version}).ok();
      if (has_manifest && std::all_of(manifest.files().begin(), manifest.files().end(), is_whole)) {
        return absl::OkStatus();
      }
      RETURN_IF_ERROR(RemoveVersion(root, {model, id.version}));
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryFolder> linked, TemporaryFolder::Create(folder));
    for (const v1::FileDigest& file : manifest.files()) RETURN_IF_ERROR(linked->Link(version, file.name()));
    RETURN_IF_ERROR(linked->Write(kManifestFile, FormatManifest(manifest)));
    RETURN_IF_ERROR(linked->Sync());
    const absl::Status moved = linked->MoveTo(name);
    return absl::IsAlreadyExists(moved) ? absl::OkStatus() : moved;  // another process has just linked the version
  });
}

absl::Status CheckPublishable(const std::filesystem::path& root, const std::string& model, int64_t expected_bytes) {
  RETURN_IF_ERROR(ValidateModelName(model));
  absl::Status status = TryTheFolder(root, model, expected_bytes);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("nothing could be published as ", model, " in ",
                                                  Quoted(root.native()), ": ", status.message()));
}

}  // namespace vitrine
