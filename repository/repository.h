// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_REPOSITORY_H_
#define VITRINE_REPOSITORY_REPOSITORY_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// A version on disk: <root>/<model>/<version>/.
struct VersionId {
  std::string model;
  int64_t version = 0;
  friend auto operator<=>(const VersionId&, const VersionId&) = default;
};

// [A-Za-z0-9_.-]{1,64}, neither "." nor "..". INVALID_ARGUMENT quotes the name (escaped) and the rule.
absl::Status ValidateModelName(std::string_view name);

// What a repository holds, as far as it can be read.
struct Listing {
  std::vector<VersionId> versions;                 // sorted
  std::map<std::string, absl::Status> unreadable;  // models whose folders cannot be read, and why
  // Symbolic links in the place of a model, a version or a manifest, as "model/2", sorted. They are passed over.
  std::vector<std::string> links;

  absl::Status status() const;  // UNAVAILABLE names what cannot be read
};

// A sentence for one of Listing::links.
std::string PassedOver(const std::string& link);

// Every <model>/<positive integer>/ under the root that holds a manifest.textproto, or may hold one that cannot be
// seen. Other entries (temporary folders, files, symbolic links) are passed over; the root itself may be a link.
// UNAVAILABLE if the root cannot be read.
absl::StatusOr<Listing> ListRepository(const std::filesystem::path& root);

// The versions alone: those of models that cannot be read are left out.
absl::StatusOr<std::vector<VersionId>> ListVersions(const std::filesystem::path& root);

// The same with the folders that lack a manifest: versions being copied by hand, or copied in part.
absl::StatusOr<std::vector<VersionId>> ListVersionFolders(const std::filesystem::path& root);

// The manifest alone, validated; the files it lists are not looked at. Errors as ReadVersion (stored_version.h).
absl::StatusOr<v1::Manifest> ReadManifest(const std::filesystem::path& root, const VersionId& id);

// Removes a version, complete or not, atomically: at any moment it is there as a whole or not at all. Its number is not
// given again. A server that has it in memory serves it on. NOT_FOUND if there is none; others as the disk says.
absl::Status RemoveVersion(const std::filesystem::path& root, const VersionId& id);

// Whether Publish could write a version of about `expected_bytes` there now, so that what takes hours can ask first.
// Makes the folders of the repository and of the model where they are missing, which holds no version yet, and writes
// and removes a temporary folder, as Publish does. INVALID_ARGUMENT: the name; PERMISSION_DENIED: a read-only file
// system or missing rights; RESOURCE_EXHAUSTED: a full disk, with what is free and what is needed; others as Publish.
absl::Status CheckPublishable(const std::filesystem::path& root, const std::string& model, int64_t expected_bytes = 0);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_REPOSITORY_H_
