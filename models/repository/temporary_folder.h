// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_TEMPORARY_FOLDER_H_
#define VITRINE_MODELS_REPOSITORY_TEMPORARY_FOLDER_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/repository/safe_file.h"

namespace vitrine {

// A folder `.tmp-...` that gets its real name once it is complete, and is removed otherwise.
//
// The process that creates the folder holds a flock on it, which the kernel releases when the process ends. So an
// unlocked temporary folder belongs to a dead process, or to a process on another machine whose locks are not visible.
// Create removes unlocked folders in which no file has been created for a day. Thread-compatible.
class TemporaryFolder {
 public:
  // Creates a temporary folder in `parent`, which must outlive the result. Waits while other publishers run Create,
  // which takes a short time.
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Create(const FileDescriptor& parent);
  // Removes the folder and its content if MoveTo was not called or failed.
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Writes or replaces a file and syncs it to disk.
  absl::Status Write(const std::string& name, std::string_view bytes);
  // Makes a hard link to the file in `from`; copies the file if the file system or the file's owner permits no link.
  absl::Status Link(const FileDescriptor& from, const std::string& name);
  // Replaces a file of the parent folder atomically.
  absl::Status ReplaceBeside(const std::string& name, std::string_view bytes);
  // Moves the folder `name` of the parent atomically to the path of this temporary folder, and so replaces this folder.
  // The destructor then removes the moved folder. This folder must be empty, and `name` may contain only files.
  // NOT_FOUND if `name` does not exist.
  absl::Status TakeIn(const std::string& name);
  // Syncs the folder's list of files to disk.
  absl::Status Sync();
  // Renames the folder atomically within its parent. ALREADY_EXISTS if the name is taken; call again with another name.
  // NOT_FOUND if another process removed this folder, which may happen after a day (see Create).
  absl::Status MoveTo(const std::string& name);

 private:
  TemporaryFolder(const FileDescriptor& parent, std::string name) : parent_(parent), name_(std::move(name)) {}

  const FileDescriptor& parent_;
  const std::string name_;
  FileDescriptor folder_;
  bool moved_ = false;
};

// Calls fsync; the message names `what`.
absl::Status SyncToDisk(const FileDescriptor& file, const std::string& what);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_TEMPORARY_FOLDER_H_
