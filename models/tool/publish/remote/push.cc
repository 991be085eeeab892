// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remote/push.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"
#include "models/repository/safe_file.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/tool/publish/remote/store.h"

namespace vitrine {
namespace {

// Returns true if the store has the manifest; ALREADY_EXISTS if it has another manifest.
absl::StatusOr<bool> IsThere(RemoteStore& store, const VersionId& id, const std::string& text) {
  const absl::StatusOr<std::string> there = store.ReadManifest(id);
  if (absl::IsNotFound(there.status())) return false;
  RETURN_IF_ERROR(there.status());
  if (*there == text) return true;
  return absl::AlreadyExistsError(
      absl::StrCat("another version has this number there, and a version never changes; publish this one under the ",
                   "next number (vitrine-repo publish) and push that"));
}

absl::Status Push(RemoteStore& store, const PushOptions& options, const VersionId& id) {
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersion(options.repository, id));
  const std::filesystem::path path = std::filesystem::path(options.repository) / id.model / absl::StrCat(id.version);
  ASSIGN_OR_RETURN(const FileDescriptor folder, OpenFolder(path));
  ASSIGN_OR_RETURN(const std::string text, ReadFileBeneath(folder, kManifestFile, kMaxManifestBytes));
  const std::string name = absl::StrCat(id.model, "/", id.version);
  ASSIGN_OR_RETURN(bool there, IsThere(store, id, text));
  if (there) {
    std::cout << name << " is already in " << options.target << "\n";
    return absl::OkStatus();
  }
  for (const v1::FileDigest& file : version.manifest.files()) {
    RETURN_IF_ERROR(store.PutFile(id, file, path / file.name()));
  }
  const absl::Status put = store.PutManifest(id, text);
  if (absl::IsAlreadyExists(put)) {  // another push was faster
    ASSIGN_OR_RETURN(there, IsThere(store, id, text));
    if (!there) return put;
  } else {
    RETURN_IF_ERROR(put);
  }
  std::cout << "pushed " << name << " to " << options.target << "\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status PushCommand(const PushOptions& options) {
  ASSIGN_OR_RETURN(const VersionId id, FindOneVersion(options.repository, options.which));
  ASSIGN_OR_RETURN(const std::unique_ptr<RemoteStore> store, OpenRemote(options.target, options.endpoint, {}));
  const absl::Status pushed = Push(*store, options, id);
  if (pushed.ok()) return pushed;
  return absl::Status(pushed.code(), absl::StrCat(id.model, "/", id.version, " is not pushed: ", pushed.message()));
}

}  // namespace vitrine
