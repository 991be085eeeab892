// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FILE_NAMES_H_
#define VITRINE_COMMON_DATA_FILE_NAMES_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace vitrine {

// Escapes a file name for JSON, CSV and lists: invalid UTF-8, control characters and the backslash become \xHH, so that
// different names stay different and the original can be restored.
std::string EscapedBytes(std::string_view text);

// Reverses EscapedBytes: each \xHH becomes that byte, the rest is unchanged.
std::string UnescapedBytes(std::string_view text);

// Resolves a listed name to a file in `folder`: the file of exactly this name; else, if it exists, of the name without
// surrounding blanks, unescaped (EscapedBytes), or with the "\" of Windows as separator. If none exists, returns the
// text with "/" as separator. The result is relative to `folder` if `text` is relative.
std::string ListedFile(const std::filesystem::path& folder, std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FILE_NAMES_H_
