// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FILE_WRITE_H_
#define VITRINE_COMMON_FILE_WRITE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Writes the whole file in place; replace.h writes atomically. Removes a file that could be opened but not written. For
// errors, see FileError; the message gives path and cause.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// Creates the folder and its parents; does nothing for an empty name. PERMISSION_DENIED gives path and cause.
absl::Status MakeFolder(const std::string& folder);

}  // namespace vitrine

#endif  // VITRINE_COMMON_FILE_WRITE_H_
