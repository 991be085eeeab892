// SPDX-License-Identifier: Apache-2.0
#include "common/file/descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ELOOP:
    case EXDEV:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (valid()) close(descriptor_);
}

absl::Status FileError(int error, const std::string& what) {
  const char* reason = std::strerror(error);
  if (error == ELOOP) reason = "is or passes through a symbolic link, which is not followed";
  if (error == EXDEV) reason = "leads out of the folder";
  return absl::Status(CodeOf(error), absl::StrCat(what, ": ", reason));
}

}  // namespace vitrine
