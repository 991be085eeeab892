// SPDX-License-Identifier: Apache-2.0
#include "trainer/work_lock.h"

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/file/process_lock.h"

namespace vitrine {

absl::StatusOr<WorkLock> WorkLock::Take(const std::filesystem::path& work_dir) {
  std::error_code error;
  std::filesystem::create_directories(work_dir, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat(work_dir.string(), " cannot be written: ", error.message()));
  }
  const std::filesystem::path path = work_dir / "lock";
  absl::StatusOr<FileDescriptor> file = LockForProcess(path);
  if (file.ok()) return WorkLock(*std::move(file));
  if (absl::IsUnimplemented(file.status())) return WorkLock(FileDescriptor());
  const std::string reason(file.status().message());
  return absl::FailedPreconditionError(absl::IsAlreadyExists(file.status())
                                           ? absl::StrCat("another training runs in ", work_dir.string(), ": ", reason,
                                                          "; wait until it ends, or give another folder (--work)")
                                           : absl::StrCat("the lock cannot be written: ", reason));
}

}  // namespace vitrine
