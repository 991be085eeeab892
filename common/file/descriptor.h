// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FILE_DESCRIPTOR_H_
#define VITRINE_COMMON_FILE_DESCRIPTOR_H_

#include <string>
#include <utility>

#include "absl/status/status.h"

namespace vitrine {

// Owns an open file descriptor. Movable; the destructor closes it.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor();

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }
  // Releases the descriptor: the caller must close it.
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

// Returns the status of a failed system call, "<what>: <reason>". NOT_FOUND for ENOENT and ENOTDIR; RESOURCE_EXHAUSTED
// for a full disk, quota, file size limit or descriptor table; PERMISSION_DENIED for EACCES, EPERM and EROFS;
// FAILED_PRECONDITION for a symbolic link that must not be followed (ELOOP) or a path that leads out of its folder
// (EXDEV); UNAVAILABLE for all other errors, including I/O errors.
absl::Status FileError(int error, const std::string& what);

}  // namespace vitrine

#endif  // VITRINE_COMMON_FILE_DESCRIPTOR_H_
