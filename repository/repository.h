#ifndef VITRINE_REPOSITORY_REPOSITORY_H_
#define VITRINE_REPOSITORY_REPOSITORY_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "repository/safetensors.h"
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

// Every <model>/<positive integer>/ under the root that holds a manifest.textproto, sorted. Other entries (temporary
// folders, files, symbolic links) are passed over. UNAVAILABLE if the root cannot be read.
absl::StatusOr<std::vector<VersionId>> ListVersions(const std::filesystem::path& root);

// The same with the folders that lack a manifest: versions being copied by hand, or copied in part.
absl::StatusOr<std::vector<VersionId>> ListVersionFolders(const std::filesystem::path& root);

// A version read into memory, every file's SHA-256 equal to the manifest's.
struct StoredVersion {
  v1::Manifest manifest;
  Safetensors weights;
  Safetensors golden;
  std::vector<std::string> labels;
  std::map<std::string, std::string> extra_files;  // name to bytes
  std::string weights_sha256;
};

// Reads and verifies one version. Opens beneath the root only, follows no symbolic link, reads with pread.
// Messages start with "<model>/<version>: " and name file and fault:
//   INVALID_ARGUMENT     the id itself is no model name or not positive
//   NOT_FOUND            there is no such folder
//   FAILED_PRECONDITION  missing or partial file, digest that differs, manifest that does not parse or names another
//                        model or version, labels that do not match the classes, NaN or infinity in weights or goldens
//   others               what the system said: UNAVAILABLE for I/O errors, PERMISSION_DENIED, RESOURCE_EXHAUSTED
// Whether the weights fit the config is for BuildModel (checkpoint.h) to find out. Thread-safe.
absl::StatusOr<StoredVersion> ReadVersion(const std::filesystem::path& root, const VersionId& id);

// The manifest alone, validated; the files it lists are not looked at. Errors as ReadVersion.
absl::StatusOr<v1::Manifest> ReadManifest(const std::filesystem::path& root, const VersionId& id);

// What a publisher hands over; the manifest's model, version and files are filled in by Publish.
struct Draft {
  v1::Manifest manifest;
  Safetensors weights;
  Safetensors golden;
  std::vector<std::string> labels;
  std::map<std::string, std::string> extra_files;  // name to bytes, for instance "model_card.md"
};

// Publishes atomically: temporary folder, files, fsync, manifest last, rename, fsync of the parent. The version is one
// above the highest present (1 in an empty repository, which is created). Killed at any point it leaves no partial
// version; the temporary folder of a killed publisher is removed by the next one. Any number of publishers, in any
// processes that share the file system, may run at once: each gets a version of its own.
//
// INVALID_ARGUMENT or FAILED_PRECONDITION, before anything is written, for a draft that ReadVersion would refuse.
// An error while writing (RESOURCE_EXHAUSTED for a full disk) names file and reason and leaves no temporary file.
// Returns the version published.
absl::StatusOr<VersionId> Publish(const std::filesystem::path& root, const std::string& model, const Draft& draft);

// Whether Publish could write a version of about `expected_bytes` there now, so that what takes hours can ask first.
// Makes the folders of the repository and of the model where they are missing, which holds no version yet, and writes
// and removes a temporary folder, as Publish does. INVALID_ARGUMENT: the name; PERMISSION_DENIED: a read-only file
// system or missing rights; RESOURCE_EXHAUSTED: a full disk, with what is free and what is needed; others as Publish.
absl::Status CheckPublishable(const std::filesystem::path& root, const std::string& model, int64_t expected_bytes = 0);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_REPOSITORY_H_
