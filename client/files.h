// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_FILES_H_
#define VITRINE_CLIENT_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vitrine {

// Writes the whole file, in place; base/file/replace.h for what others read meanwhile. UNAVAILABLE names the path and
// why.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// Makes the folder and those above it; nothing for an empty name. PERMISSION_DENIED names it and why.
absl::Status MakeFolder(const std::string& folder);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_FILES_H_
