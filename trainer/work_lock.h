// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WORK_LOCK_H_
#define VITRINE_TRAINER_WORK_LOCK_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "common/file/descriptor.h"

namespace vitrine {

// Lock of a work folder, so that two trainings cannot write their states, histories and results to the same folder.
// Held until destruction; if the process dies, the kernel releases the lock. Movable.
class WorkLock {
 public:
  // Creates the folder if missing and locks the file `lock` in it. The file names the process that holds the lock.
  // FAILED_PRECONDITION names the holder, or says that the folder cannot be written. If the file system has no locks,
  // returns an object that holds no lock.
  static absl::StatusOr<WorkLock> Take(const std::filesystem::path& work_dir);

 private:
  explicit WorkLock(FileDescriptor file) : file_(std::move(file)) {}

  FileDescriptor file_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WORK_LOCK_H_
