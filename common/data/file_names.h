// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FILE_NAMES_H_
#define VITRINE_COMMON_DATA_FILE_NAMES_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace vitrine {

// Escapes a file name for JSON, CSV and lists: invalid UTF-8, control characters and backslashes become \xHH. Different
// names stay different, and UnescapedBytes restores the original.
std::string EscapedBytes(std::string_view text);

// Reverses EscapedBytes: each \xHH becomes the byte with the value HH; other text is unchanged.
std::string UnescapedBytes(std::string_view text);

// Resolves a listed name to a file in `folder`. Returns the first of these names that exists: `text`; the stripped
// name, which is `text` without surrounding blanks (WithoutBlanks); the stripped name, unescaped (UnescapedBytes); the
// stripped name with "\" (Windows) replaced by "/"; and the stripped name in Unicode form NFC or NFD (macOS). If no
// such file exists, returns the stripped name with "\" replaced by "/". The result is relative to `folder` if `text` is
// relative.
std::string ListedFile(const std::filesystem::path& folder, std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FILE_NAMES_H_
