// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_UTF8_H_
#define VITRINE_COMMON_UTF8_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace vitrine {

// Returns true if `text` is valid UTF-8 (RFC 3629: no overlong forms, no surrogates, no code points above U+10FFFF).
// Strings in proto3 and JSON must be valid UTF-8; otherwise the whole message cannot be parsed.
bool IsUtf8(std::string_view text);

// Removes the first character of `text` (UTF-8), which must not be empty, and returns it. If `text` does not begin with
// a valid character, removes one byte and returns nullopt.
std::optional<char32_t> TakeCharacter(std::string_view& text);

// Returns the longest prefix of `text` (UTF-8) that has at most `most` bytes and no partial character.
std::string_view FrontOf(std::string_view text, size_t most);

// Shortens a name for an error message: if it exceeds 64 bytes, returns the characters that fit completely into 64
// bytes, followed by "...".
std::string Shown(std::string_view text);

}  // namespace vitrine

#endif  // VITRINE_COMMON_UTF8_H_
