// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_GUARDED_FILE_H_
#define VITRINE_SERVER_IDENTITY_GUARDED_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// Required protection of a security-relevant file against other users. These are all users except the file's owner and
// the members of the file's group.
enum class Guard {
  kNoOtherWriters,  // other users may read but not write the file: certificates, hashed tokens, the policy
  kNoOtherReaders,  // other users must not have access to the file: a private key
};

// Treatment of an empty file.
enum class Emptiness { kIsAnError, kIsAllowed };

// Reads a regular file of at most 1 MiB. NOT_FOUND or PERMISSION_DENIED: the file cannot be read. FAILED_PRECONDITION:
// its mode gives other users more rights than `guard` permits. INVALID_ARGUMENT: it is too large, not a regular file,
// or empty and `emptiness` does not allow that. The message names the setting and the file, never the content.
absl::StatusOr<std::string> ReadGuardedFile(const std::string& setting, const std::string& path, Guard guard,
                                            Emptiness emptiness = Emptiness::kIsAnError);

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_GUARDED_FILE_H_
