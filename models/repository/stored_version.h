// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_STORED_VERSION_H_
#define VITRINE_MODELS_REPOSITORY_STORED_VERSION_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/repository/files/safetensors.h"
#include "models/repository/repository.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// A version in memory. The SHA-256 of every file has been checked against the manifest.
struct StoredVersion {
  v1::Manifest manifest;
  Safetensors weights;
  Safetensors golden;
  std::vector<std::string> labels;
  std::map<std::string, std::string> extra_files;  // bytes by file name
  std::string weights_sha256;
  std::vector<std::string> unknown;  // ignored fields of the manifest (see ParseManifest)
};

// Reads and verifies one version. Opens only files beneath the root, follows no symbolic link, reads with pread.
// Messages start with "<model>/<version>: " and name file and error:
//   INVALID_ARGUMENT     the id has an invalid model name or a version that is not positive
//   NOT_FOUND            the folder does not exist
//   FAILED_PRECONDITION  missing or partial file, digest that differs, manifest that does not parse or names another
//                        model or version, labels that do not match the classes, NaN or infinity in weights or goldens
//   UNAVAILABLE          the root cannot be opened, or an I/O error
//   others               from the system: PERMISSION_DENIED, RESOURCE_EXHAUSTED
// Does not check that the weights fit the config; BuildModel (checkpoint.h) does. Thread-safe.
absl::StatusOr<StoredVersion> ReadVersion(const std::filesystem::path& root, const VersionId& id);

// Content of a new version; Publish sets the manifest's model, version and files.
struct Draft {
  v1::Manifest manifest;
  Safetensors weights;
  Safetensors golden;
  std::vector<std::string> labels;
  std::map<std::string, std::string> extra_files;  // bytes by file name, for instance "model_card.md"
};

// Publishes atomically: creates a temporary folder, writes and syncs the files (the manifest last), renames the folder,
// and syncs the parent folder. The new version number is the highest number ever used plus 1 (1 for a new model).
// Missing folders are created. A killed publisher leaves no partial version; a later publisher removes the temporary
// folder once it is a day old. Any number of publishers, in any processes that share the file system, may run at once:
// each gets its own version number.
//
// Returns INVALID_ARGUMENT or FAILED_PRECONDITION, before writing, if ReadVersion would reject the draft. A write error
// (RESOURCE_EXHAUSTED for a full disk) names file and reason and leaves no temporary file. Returns the published
// version.
absl::StatusOr<VersionId> Publish(const std::filesystem::path& root, const std::string& model, const Draft& draft);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_STORED_VERSION_H_
