// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_TEMPORARY_FOLDER_H_
#define VITRINE_REPOSITORY_TEMPORARY_FOLDER_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "repository/safe_file.h"

namespace vitrine {

// A folder `.tmp-...` that becomes visible under its real name only when it is complete, and vanishes otherwise.
//
// Its process holds a flock on it. The kernel drops the lock however the process ends, so a temporary folder that
// nobody holds belongs to a dead process, or to one on another machine whose locks are not seen here; Create sweeps
// away those in which nothing was made for a day. Thread-compatible.
class TemporaryFolder {
 public:
  // `parent` must outlive the result. Waits for other publishers' Create, which is short.
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Create(const FileDescriptor& parent);
  // Removes the folder and what is in it, unless MoveTo succeeded.
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Writes a file, or writes it anew, down to the disk.
  absl::Status Write(const std::string& name, std::string_view bytes);
  // Replaces a file of the parent, atomically.
  absl::Status ReplaceBeside(const std::string& name, std::string_view bytes);
  // Puts a folder of the parent into the place of this one, which is empty, atomically: it vanishes with it. The folder
  // holds files alone. NOT_FOUND if it is not there.
  absl::Status TakeIn(const std::string& name);
  // Brings the list of files down to the disk.
  absl::Status Sync();
  // Renames the folder within its parent, atomically. ALREADY_EXISTS if the name is taken; it may be tried again.
  // NOT_FOUND if somebody took this folder for abandoned, which takes a day.
  absl::Status MoveTo(const std::string& name);

 private:
  TemporaryFolder(const FileDescriptor& parent, std::string name) : parent_(parent), name_(std::move(name)) {}

  const FileDescriptor& parent_;
  const std::string name_;
  FileDescriptor folder_;
  bool moved_ = false;
};

// fsync; the message names `what`.
absl::Status SyncToDisk(const FileDescriptor& file, const std::string& what);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_TEMPORARY_FOLDER_H_
