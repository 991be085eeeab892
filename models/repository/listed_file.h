// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_LISTED_FILE_H_
#define VITRINE_MODELS_REPOSITORY_LISTED_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sha256.h"
#include "models/repository/safe_file.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// A file of a version: read once from start to end, then checked against the digest in the manifest. Not thread-safe.
class ListedFile {
 public:
  // Opens a file. FAILED_PRECONDITION: the file is missing, is not regular, or has another size than listed.
  static absl::StatusOr<ListedFile> Open(const FileDescriptor& folder, const v1::FileDigest& listed);

  // Reads the next `count` bytes, which must not exceed the rest of the listed size. FAILED_PRECONDITION if the file
  // became shorter.
  absl::Status Read(char* into, size_t count);
  // Reads the remaining bytes and compares the digest of the whole file. FAILED_PRECONDITION gives both digests.
  absl::Status Prove();

 private:
  ListedFile(FileDescriptor file, const v1::FileDigest& listed) : file_(std::move(file)), listed_(listed) {}

  FileDescriptor file_;
  v1::FileDigest listed_;
  Sha256Stream digest_;
  int64_t done_ = 0;
};

// Reads and checks the whole file.
absl::StatusOr<std::string> ReadListedFile(const FileDescriptor& folder, const v1::FileDigest& listed);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_LISTED_FILE_H_
