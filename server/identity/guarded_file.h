// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_GUARDED_FILE_H_
#define VITRINE_SERVER_IDENTITY_GUARDED_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// Required protection of a security-relevant file against other users of this machine.
enum class Guard {
  kNoOtherWriters,  // others may read it, not write it: certificates, hashed tokens, the policy
  kNoOtherReaders,  // others may not read or write it: a private key
};

// Reads a regular file of at most 1 MiB. NOT_FOUND or PERMISSION_DENIED: it cannot be read. FAILED_PRECONDITION: every
// user of the machine may read or write it. INVALID_ARGUMENT: it is empty, too large or not a regular file. The message
// names the setting and the file, never the content.
absl::StatusOr<std::string> ReadGuardedFile(const std::string& setting, const std::string& path, Guard guard);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_GUARDED_FILE_H_
