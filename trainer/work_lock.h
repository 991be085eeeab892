// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WORK_LOCK_H_
#define VITRINE_TRAINER_WORK_LOCK_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "repository/safe_file.h"

namespace vitrine {

// Keeps a work folder to one training: two that write the same state, history and result would leave neither. Held
// until destruction; the kernel drops it however the process ends. Movable.
class WorkLock {
 public:
  // Makes the folder if it is missing and locks its file `lock`, which names the holder. FAILED_PRECONDITION names the
  // process that is at work in the folder, or says that the folder cannot be written. A file system without locks
  // refuses nobody.
  static absl::StatusOr<WorkLock> Take(const std::filesystem::path& work_dir);

 private:
  explicit WorkLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WORK_LOCK_H_
