// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_REPOSITORY_H_
#define VITRINE_MODELS_REPOSITORY_REPOSITORY_H_

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

// Checks that a name matches [A-Za-z0-9_.-]{1,64} and is not "." or "..". INVALID_ARGUMENT quotes the name (escaped)
// and the rule.
absl::Status ValidateModelName(std::string_view name);

// Readable content of a repository, and the errors of unreadable models.
struct Listing {
  std::vector<VersionId> versions;                 // sorted
  std::map<std::string, absl::Status> unreadable;  // models whose folders cannot be read, with the reason
  // Symbolic links in place of a model, a version or a manifest, like "model/2", sorted. They are ignored.
  std::vector<std::string> links;

  absl::Status status() const;  // UNAVAILABLE names unreadable models
};

// Returns a sentence that describes one of Listing::links.
std::string PassedOver(const std::string& link);

// Lists every <model>/<positive integer>/ under the root with a manifest.textproto, even if the manifest is unreadable.
// Ignores other entries (temporary folders, files, symbolic links); the root itself may be a link. UNAVAILABLE if the
// root cannot be read.
absl::StatusOr<Listing> ListRepository(const std::filesystem::path& root);

// Like ListRepository, but returns only the versions, and ignores unreadable models.
absl::StatusOr<std::vector<VersionId>> ListVersions(const std::filesystem::path& root);

// Like ListVersions, but also lists folders without a manifest: manual copies that are incomplete or in progress.
absl::StatusOr<std::vector<VersionId>> ListVersionFolders(const std::filesystem::path& root);

// Reads and validates only the manifest, not the files it lists. Returns the errors of ReadVersion (stored_version.h).
absl::StatusOr<v1::Manifest> ReadManifest(const std::filesystem::path& root, const VersionId& id);

// Removes a version, complete or not, atomically: at any time the version exists as a whole or not at all. Its number
// is not reused. A server that has the version loaded continues to serve it. NOT_FOUND if the version does not exist;
// other errors come from the file system.
absl::Status RemoveVersion(const std::filesystem::path& root, const VersionId& id);

// Publishes a version of the repository `from` in the repository `root`, under the name `model` and with the same
// number. Uses hard links where possible. Does nothing if `root` already has the complete version. Replaces an
// incomplete version.
absl::Status LinkVersion(const std::filesystem::path& from, const VersionId& id, const std::filesystem::path& root,
                         const std::string& model);

// Checks that Publish could write a version of about `expected_bytes` now; call it before long work. Creates missing
// folders of the repository and the model, and writes and removes a temporary folder, as Publish does.
// INVALID_ARGUMENT: the name is invalid; PERMISSION_DENIED: a read-only file system or missing rights;
// RESOURCE_EXHAUSTED: disk full, with free and needed bytes; other errors of Publish.
absl::Status CheckPublishable(const std::filesystem::path& root, const std::string& model, int64_t expected_bytes = 0);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_REPOSITORY_H_
