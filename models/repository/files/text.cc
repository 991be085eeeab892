// SPDX-License-Identifier: Apache-2.0
#include "models/repository/files/text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vitrine {
namespace {

// Returns the byte length of the first character of `bytes`, or 0 if it is malformed.
size_t CharacterLength(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const auto continues = [&](size_t i) { return i < bytes.size() && (byte(i) & 0xC0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;  // a continuation byte, or the start of an overlong form of ASCII
  if (first < 0xE0) return continues(1) ? 2 : 0;
  if (first < 0xF0) {
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
    if (first == 0xED && byte(1) >= 0xA0) return 0;  // surrogate
    return 3;
  }
  if (first > 0xF4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;   // overlong
  if (first == 0xF4 && byte(1) >= 0x90) return 0;  // above U+10FFFF
  return 4;
}

// Returns true for the control characters of ASCII and Latin-1, and for characters that change the direction of text
// (U+202A to U+202E, U+2066 to U+2069). A changed direction can make a name look like another name on a terminal.
bool IsControl(std::string_view character) {
  const auto is_between = [&](std::string_view first, std::string_view last) {
    return character.size() == first.size() && character >= first && character <= last;
  };
  const auto byte = static_cast<uint8_t>(character[0]);
  return byte < 0x20 || byte == 0x7F || is_between("\xC2\x80", "\xC2\x9F") ||
         is_between("\xE2\x80\xAA", "\xE2\x80\xAE") || is_between("\xE2\x81\xA6", "\xE2\x81\xA9");
}

}  // namespace

bool IsValidUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = CharacterLength(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string Quoted(std::string_view untrusted) {
  constexpr size_t kShown = 100;
  std::string_view shown = untrusted.substr(0, kShown);
  // Does not cut within a character, because the bytes before the cut would then be malformed UTF-8.
  while (shown.size() < untrusted.size() && !shown.empty() &&
         (static_cast<uint8_t>(untrusted[shown.size()]) & 0xC0) == 0x80) {
    shown.remove_suffix(1);
  }
  const std::string text(shown);
  const std::string escaped = IsValidUtf8(text) ? absl::Utf8SafeCHexEscape(text) : absl::CHexEscape(text);
  return absl::StrCat("\"", escaped, shown.size() < untrusted.size() ? "..." : "", "\"");
}

std::string EscapedText(std::string_view untrusted) {
  std::string text;
  while (!untrusted.empty()) {
    const size_t length = CharacterLength(untrusted);
    const std::string_view character = untrusted.substr(0, std::max<size_t>(length, 1));
    if (length == 0 || IsControl(character)) {
      for (const char c : character) absl::StrAppendFormat(&text, "\\x%02x", static_cast<uint8_t>(c));
    } else {
      text += character;
    }
    untrusted.remove_prefix(character.size());
  }
  return text;
}

}  // namespace vitrine
