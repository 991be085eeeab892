// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_FILE_NAMES_H_
#define VITRINE_DATA_FILE_NAMES_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace vitrine {

// The text as every program writes a file's name into JSON, CSV and lists: bytes that are no UTF-8, control characters
// and the backslash as \xHH, so that different names stay different and each can be had back.
std::string EscapedBytes(std::string_view text);

// The inverse: each \xHH is that byte, the rest stays.
std::string UnescapedBytes(std::string_view text);

// The file in `folder` that a list means by `text`: that of exactly this name; else, where it is there, that of the
// name without blanks at its ends, as EscapedBytes writes it, or with "\" between folders as Windows writes it. The
// text with "/" between folders where none is there. Relative to `folder` where `text` is.
std::string ListedFile(const std::filesystem::path& folder, std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_DATA_FILE_NAMES_H_
