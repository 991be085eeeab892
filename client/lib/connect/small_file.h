// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CONNECT_SMALL_FILE_H_
#define VITRINE_CLIENT_LIB_CONNECT_SMALL_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vitrine {

// Reads a whole file. NOT_FOUND or PERMISSION_DENIED: the file cannot be read. INVALID_ARGUMENT: it has more than
// `most` bytes. The message names the file.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, int64_t most);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CONNECT_SMALL_FILE_H_
