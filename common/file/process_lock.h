// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FILE_PROCESS_LOCK_H_
#define VITRINE_COMMON_FILE_PROCESS_LOCK_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "common/file/descriptor.h"

namespace vitrine {

// Locks the file `path` for this process until the descriptor is closed; the kernel releases the lock if the process
// dies. Creates the file if it is missing, and writes "process 12 on HOST, since ..." into it if possible.
// ALREADY_EXISTS: another process holds the lock; the message is the file's text. UNIMPLEMENTED: the file cannot be
// locked, for example on a file system without locks. For other errors, see FileError.
absl::StatusOr<FileDescriptor> LockForProcess(const std::filesystem::path& path);

}  // namespace vitrine

#endif  // VITRINE_COMMON_FILE_PROCESS_LOCK_H_
