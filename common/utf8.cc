// SPDX-License-Identifier: Apache-2.0
#include "common/utf8.h"

#include <cstdint>

namespace vitrine {
namespace {

bool Continues(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) == 0x80;
}

// Returns the length of a character whose first byte is `lead`; 0 if no character starts with `lead`.
size_t LengthOf(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;  // continuation byte, overlong form, or above U+10FFFF
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Returns true if `second` may follow `lead`.
bool MayFollow(uint8_t lead, uint8_t second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0;  // lower values would be overlong
    case 0xED:
      return second < 0xA0;  // 0xA0 and above would be surrogates
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second < 0x90;
    default:
      return true;
  }
}

}  // namespace

std::optional<char32_t> TakeCharacter(std::string_view& text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t length = LengthOf(lead);
  bool valid = length > 0 && length <= text.size();
  char32_t character = length < 2 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; valid && i < length; ++i) {
    valid = Continues(text[i]) && (i > 1 || MayFollow(lead, static_cast<uint8_t>(text[1])));
    character = character << 6 | (static_cast<uint8_t>(text[i]) & 0x3F);
  }
  text.remove_prefix(valid ? length : 1);
  return valid ? std::optional(character) : std::nullopt;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (static_cast<uint8_t>(text[0]) < 0x80) {  // ASCII, which is most of a text, needs no decoding
      text.remove_prefix(1);
    } else if (!TakeCharacter(text).has_value()) {
      return false;
    }
  }
  return true;
}

std::string_view FrontOf(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && Continues(text[most])) --most;
  return text.substr(0, most);
}

std::string Shown(std::string_view text) {
  constexpr size_t kMost = 64;
  return text.size() <= kMost ? std::string(text) : std::string(FrontOf(text, kMost)) + "...";
}

}  // namespace vitrine
