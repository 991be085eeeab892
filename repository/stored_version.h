// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_STORED_VERSION_H_
#define VITRINE_REPOSITORY_STORED_VERSION_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "repository/repository.h"
#include "repository/safetensors.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// A version read into memory, every file's SHA-256 equal to the manifest's.
struct StoredVersion {
  v1::Manifest manifest;
  Safetensors weights;
  Safetensors golden;
  std::vector<std::string> labels;
  std::map<std::string, std::string> extra_files;  // name to bytes
  std::string weights_sha256;
  std::vector<std::string> unknown;  // fields of the manifest that were passed over, see ParseManifest
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

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_STORED_VERSION_H_
