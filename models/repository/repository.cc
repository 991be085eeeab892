// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/labels.h"
#include "models/repository/listed_file.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"
#include "models/repository/safe_file.h"
#include "models/repository/stored_version.h"

namespace vitrine {
namespace {

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

// Returns FAILED_PRECONDITION with the name of the file and the message of `status`, an error in the file's content.
absl::Status AsPrecondition(const std::string& file, const absl::Status& status) {
  return absl::FailedPreconditionError(absl::StrCat(file, ": ", status.message()));
}

absl::Status ValidateId(const VersionId& id) {
  RETURN_IF_ERROR(ValidateModelName(id.model));
  if (id.version > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(id.version, " is not a version; versions are positive integers"));
}

absl::StatusOr<FileDescriptor> OpenVersion(const std::filesystem::path& root, const VersionId& id) {
  absl::StatusOr<FileDescriptor> folder = OpenFolder(root);
  if (!folder.ok()) return absl::UnavailableError(absl::StrCat("repository ", folder.status().message()));
  absl::StatusOr<FileDescriptor> version = OpenBeneath(*folder, absl::StrCat(id.model, "/", id.version));
  if (absl::IsNotFound(version.status())) return absl::NotFoundError("there is no such version");
  return version;
}

absl::StatusOr<v1::Manifest> ReadManifestIn(const FileDescriptor& folder, const VersionId& id,
                                            std::vector<std::string>* unknown = nullptr) {
  absl::StatusOr<std::string> text = ReadFileBeneath(folder, kManifestFile, kMaxManifestBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(kManifestFile, " is missing; the version is not complete, publish it again"));
  }
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<v1::Manifest> manifest = ParseManifest(*text, unknown);
  if (!manifest.ok()) return AsPrecondition(kManifestFile, manifest.status());
  if (const absl::Status valid = ValidateManifest(*manifest); !valid.ok()) return AsPrecondition(kManifestFile, valid);
  if (manifest->model() != id.model || manifest->version() != id.version) {
    return absl::FailedPreconditionError(
        absl::StrCat(kManifestFile, " belongs to ", manifest->model(), "/", manifest->version()));
  }
  return manifest;
}

absl::StatusOr<Safetensors> ReadTensors(const FileDescriptor& folder, const v1::FileDigest& listed) {
  ASSIGN_OR_RETURN(ListedFile file, ListedFile::Open(folder, listed));
  const absl::StatusOr<Safetensors> tensors = ReadSafetensors(
      static_cast<uint64_t>(listed.bytes()), [&](char* into, size_t count) { return file.Read(into, count); });
  if (absl::IsResourceExhausted(tensors.status())) return Prefixed(listed.name() + ": ", tensors.status());
  // Checks the digest before reporting a parse error, because a wrong digest explains the parse error.
  RETURN_IF_ERROR(file.Prove());
  if (absl::IsInvalidArgument(tensors.status())) return AsPrecondition(listed.name(), tensors.status());
  RETURN_IF_ERROR(tensors.status());
  if (const absl::Status finite = CheckFinite(*tensors); !finite.ok()) return AsPrecondition(listed.name(), finite);
  return tensors;
}

absl::StatusOr<StoredVersion> ReadVersionIn(const FileDescriptor& folder, const VersionId& id) {
  StoredVersion version;
  ASSIGN_OR_RETURN(version.manifest, ReadManifestIn(folder, id, &version.unknown));
  // Checks all sizes first, because this is cheap and detects an incomplete copy, which lacks a file or a file's end.
  for (const v1::FileDigest& file : version.manifest.files()) RETURN_IF_ERROR(ListedFile::Open(folder, file).status());
  for (const v1::FileDigest& file : version.manifest.files()) {
    if (file.name() == kWeightsFile) {
      ASSIGN_OR_RETURN(version.weights, ReadTensors(folder, file));
      version.weights_sha256 = file.sha256();
    } else if (file.name() == kGoldenFile) {
      ASSIGN_OR_RETURN(version.golden, ReadTensors(folder, file));
    } else if (file.name() == kLabelsFile) {
      ASSIGN_OR_RETURN(const std::string text, ReadListedFile(folder, file));
      absl::StatusOr<std::vector<std::string>> labels = ParseLabels(text);
      if (!labels.ok()) return AsPrecondition(kLabelsFile, labels.status());
      version.labels = *std::move(labels);
    } else {
      ASSIGN_OR_RETURN(version.extra_files[file.name()], ReadListedFile(folder, file));
    }
  }
  if (static_cast<int64_t>(version.labels.size()) != version.manifest.config().classes()) {
    return absl::FailedPreconditionError(absl::StrCat(kLabelsFile, " has ", version.labels.size(),
                                                      " labels, the model has ", version.manifest.config().classes(),
                                                      " classes"));
  }
  return version;
}

// Names in a folder. `folders` includes unreadable entries, since these could be folders; `links` are symbolic links.
struct Entries {
  std::vector<std::string> folders, links;
};

template <typename Accept>
absl::StatusOr<Entries> EntriesOf(const FileDescriptor& folder, Accept accept) {
  Entries entries;
  RETURN_IF_ERROR(ForEachEntry(folder, [&](const std::string& name) {
    if (!accept(name)) return;
    const EntryKind kind = KindOf(folder, name);
    if (kind == EntryKind::kFolder || kind == EntryKind::kUnreadable) entries.folders.push_back(name);
    if (kind == EntryKind::kLink) entries.links.push_back(name);
  }));
  return entries;
}

enum class Manifests { kRequired, kOptional };

absl::Status ListModel(const FileDescriptor& root, const std::string& model, Manifests manifests, Listing& listing) {
  ASSIGN_OR_RETURN(const FileDescriptor folder, OpenBeneath(root, model));
  ASSIGN_OR_RETURN(const Entries versions,
                   EntriesOf(folder, [](const std::string& name) { return ParseVersion(name).has_value(); }));
  for (const std::string& link : versions.links) listing.links.push_back(absl::StrCat(model, "/", link));
  for (const std::string& version : versions.folders) {
    const std::string manifest = absl::StrCat(version, "/", kManifestFile);
    const EntryKind kind = KindOf(folder, manifest);
    if (kind == EntryKind::kLink) listing.links.push_back(absl::StrCat(model, "/", manifest));
    const bool complete = kind == EntryKind::kFile || kind == EntryKind::kUnreadable;
    if (complete || manifests == Manifests::kOptional) listing.versions.push_back({model, *ParseVersion(version)});
  }
  return absl::OkStatus();
}

absl::StatusOr<Listing> ListFolders(const std::filesystem::path& root, Manifests manifests) {
  const auto unreadable = [](const absl::Status& status) {
    return absl::UnavailableError(absl::StrCat("repository cannot be read: ", status.message()));
  };
  const absl::StatusOr<FileDescriptor> folder = OpenFolder(root);
  if (!folder.ok()) return unreadable(folder.status());
  const absl::StatusOr<Entries> models = EntriesOf(*folder, IsPlainName);
  if (!models.ok()) return unreadable(models.status());

  Listing listing;
  for (const std::string& link : models->links) {
    if (link.front() != '.' && !LeadsToNoFolder(*folder, link)) listing.links.push_back(link);
  }
  for (const std::string& model : models->folders) {
    const absl::Status listed = ListModel(*folder, model, manifests, listing);
    // The model was removed, or replaced by a link, after the listing.
    if (absl::IsNotFound(listed) || absl::IsFailedPrecondition(listed)) continue;
    if (!listed.ok()) listing.unreadable[model] = listed;
  }
  std::sort(listing.versions.begin(), listing.versions.end());
  std::sort(listing.links.begin(), listing.links.end());
  return listing;
}

}  // namespace

absl::Status ValidateModelName(std::string_view name) {
  if (IsPlainName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(name), " is not a model name; a name has 1 to 64 of A-Z a-z 0-9 _ . - and is neither \".\" nor \"..\""));
}

absl::Status Listing::status() const {
  if (unreadable.empty()) return absl::OkStatus();
  const std::string models = absl::StrJoin(unreadable, "; ", [](std::string* text, const auto& model) {
    absl::StrAppend(text, "model ", model.second.message());
  });
  return absl::UnavailableError(absl::StrCat("repository cannot be read in part: ", models));
}

std::string PassedOver(const std::string& link) {
  return absl::StrCat(
      link, " is a symbolic link and is ignored: links within a repository are not followed; replace it by a ", "copy");
}

absl::StatusOr<Listing> ListRepository(const std::filesystem::path& root) {
  return ListFolders(root, Manifests::kRequired);
}

absl::StatusOr<std::vector<VersionId>> ListVersions(const std::filesystem::path& root) {
  ASSIGN_OR_RETURN(Listing listing, ListRepository(root));
  return std::move(listing.versions);
}

absl::StatusOr<std::vector<VersionId>> ListVersionFolders(const std::filesystem::path& root) {
  ASSIGN_OR_RETURN(Listing listing, ListFolders(root, Manifests::kOptional));
  return std::move(listing.versions);
}

absl::StatusOr<StoredVersion> ReadVersion(const std::filesystem::path& root, const VersionId& id) {
  RETURN_IF_ERROR(ValidateId(id));
  const std::string prefix = absl::StrCat(id.model, "/", id.version, ": ");
  absl::StatusOr<FileDescriptor> folder = OpenVersion(root, id);
  if (!folder.ok()) return Prefixed(prefix, folder.status());
  absl::StatusOr<StoredVersion> version = ReadVersionIn(*folder, id);
  if (!version.ok()) return Prefixed(prefix, version.status());
  return version;
}

absl::StatusOr<v1::Manifest> ReadManifest(const std::filesystem::path& root, const VersionId& id) {
  RETURN_IF_ERROR(ValidateId(id));
  const std::string prefix = absl::StrCat(id.model, "/", id.version, ": ");
  absl::StatusOr<FileDescriptor> folder = OpenVersion(root, id);
  if (!folder.ok()) return Prefixed(prefix, folder.status());
  absl::StatusOr<v1::Manifest> manifest = ReadManifestIn(*folder, id);
  if (!manifest.ok()) return Prefixed(prefix, manifest.status());
  return manifest;
}

}  // namespace vitrine
