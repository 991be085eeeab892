// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WORK_LOCK_H_
#define VITRINE_TRAINER_WORK_LOCK_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "common/file/descriptor.h"

namespace vitrine {

// Lock of a work folder for one training, so that two trainings cannot mix their state, history and result. Held until
// destruction; the kernel releases it if the process dies. Movable.
class WorkLock {
 public:
  // Creates the folder if missing and locks the file `lock` in it. The file names the process that holds the lock.
  // FAILED_PRECONDITION names the holder, or says that the folder cannot be written. On a file system without locks,
  // succeeds without a lock.
  static absl::StatusOr<WorkLock> Take(const std::filesystem::path& work_dir);

 private:
  explicit WorkLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WORK_LOCK_H_
