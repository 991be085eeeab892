// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD
constexpr char kEllipsis[] = "\xE2\x80\xA6";     // U+2026

struct Range {
  uint32_t first, last;
};
constexpr Range kWithoutWidth[] = {{0x0300, 0x036F}, {0x0483, 0x0489},  {0x0591, 0x05BD}, {0x0610, 0x061A},
                                   {0x064B, 0x065F}, {0x0E34, 0x0E3A},  {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},
                                   {0x1DC0, 0x1DFF}, {0x200B, 0x200F},  {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                   {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <size_t n>
bool In(const Range (&ranges)[n], uint32_t point) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [point](const Range& range) { return point >= range.first && point <= range.last; });
}

int ColumnsOf(uint32_t point) {
  if (In(kWithoutWidth, point)) return 0;
  return In(kWide, point) ? 2 : 1;
}

struct Character {
  absl::string_view bytes;
  uint32_t point = 0;
  bool valid = false;
};

// Returns the first character of a non-empty text, or its first byte if it does not begin with valid UTF-8.
Character First(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  const Character invalid{.bytes = text.substr(0, 1)};
  if (length == 0 || length > text.size()) return invalid;
  uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return invalid;
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  if (point < kSmallest[length] || point > 0x10FFFF || surrogate) return invalid;
  return {.bytes = text.substr(0, length), .point = point, .valid = true};
}

std::vector<Character> Split(absl::string_view text) {
  std::vector<Character> characters;
  while (!text.empty()) {
    characters.push_back(First(text));
    text.remove_prefix(characters.back().bytes.size());
  }
  return characters;
}

}  // namespace

std::string Printable(absl::string_view text) {
  std::string result;
  for (const Character& character : Split(text)) {
    const uint32_t point = character.point;
    if (!character.valid) {
      result += kReplacement;
    } else if (point < 0x20 || (point >= 0x7F && point < 0xA0) || (point >= 0x202A && point <= 0x202E) ||
               (point >= 0x2066 && point <= 0x2069)) {
      result += '?';  // a control character, or (last two ranges) a character that changes the text direction
    } else {
      absl::StrAppend(&result, character.bytes);
    }
  }
  return result;
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  for (const Character& character : Split(text)) width += character.valid ? ColumnsOf(character.point) : 1;
  return width;
}

std::string CutEnd(absl::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string result;
  int used = 1;
  for (const Character& character : Split(text)) {
    used += ColumnsOf(character.point);
    if (used > width) break;
    absl::StrAppend(&result, character.bytes);
  }
  return result + kEllipsis;
}

std::string CutStart(absl::string_view text, int width) {
  int excess = DisplayWidth(text) - width;
  if (excess <= 0) return std::string(text);
  ++excess;  // the ellipsis takes one column
  for (const Character& character : Split(text)) {
    // A combining mark stays with its base character.
    if (excess <= 0 && ColumnsOf(character.point) > 0) break;
    excess -= ColumnsOf(character.point);
    text.remove_prefix(character.bytes.size());
  }
  return kEllipsis + std::string(text);
}

}  // namespace vitrine
