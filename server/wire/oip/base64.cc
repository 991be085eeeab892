// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/base64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr int8_t kNoDigit = -1, kSpace = -2, kPadding = -3;
constexpr int kDigitBits = 6, kByteBits = 8;

constexpr std::array<int8_t, 256> MakeDigits() {
  std::array<int8_t, 256> digits{};
  for (int8_t& digit : digits) digit = kNoDigit;
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kAlphabet.size(); ++i) digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  digits['-'] = digits['+'];
  digits['_'] = digits['/'];
  digits['='] = kPadding;
  for (const char space : {' ', '\t', '\r', '\n'}) digits[static_cast<uint8_t>(space)] = kSpace;
  return digits;
}

constexpr std::array<int8_t, 256> kDigits = MakeDigits();

// Decodes %XX. Keeps other percent signs.
std::string WithoutEscapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && absl::ascii_isxdigit(text[i + 1]) && absl::ascii_isxdigit(text[i + 2]);
    if (!is_escape) {
      plain += text[i];
      continue;
    }
    const auto value = [](char digit) { return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10; };
    plain += static_cast<char>(value(text[i + 1]) * 16 + value(text[i + 2]));
    i += 2;
  }
  return plain;
}

absl::StatusOr<std::string> Decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int held = 0;  // number of bits in `bits` that do not form a byte yet
  bool is_padded = false;
  size_t digits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int8_t digit = kDigits[static_cast<uint8_t>(text[i])];
    if (digit == kSpace) continue;
    if (digit == kPadding) {
      is_padded = true;
      continue;
    }
    if (digit == kNoDigit) {
      return absl::InvalidArgumentError(
          absl::StrCat("is not base64: byte ", i, " is 0x", absl::Hex(static_cast<uint8_t>(text[i]), absl::kZeroPad2)));
    }
    if (is_padded) {
      return absl::InvalidArgumentError(absl::StrCat("is not base64: more data follows the padding at byte ", i));
    }
    ++digits;
    bits = bits << kDigitBits | static_cast<uint32_t>(digit);
    held += kDigitBits;
    if (held < kByteBits) continue;
    held -= kByteBits;
    bytes += static_cast<char>(bits >> held & 0xFF);
  }
  if (digits % 4 == 1) {
    return absl::InvalidArgumentError(absl::StrCat("is truncated base64: ", digits, " characters are not whole bytes"));
  }
  return bytes;
}

bool IsUrl(std::string_view text) {
  constexpr size_t kLongestScheme = 8;
  const std::string_view begin = text.substr(0, kLongestScheme + 3);
  const size_t scheme = begin.find("://");
  return scheme != std::string_view::npos && scheme > 0 &&
         std::all_of(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(scheme),
                     [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

}  // namespace

std::string_view MistakenForBase64(std::string_view text) {
  if (IsUrl(text)) return "has a URL, but the server fetches nothing; send the image itself, as base64 or a data URL";
  const std::string_view begin = text.substr(0, 2);
  if (begin == "b'" || begin == "b\"") {
    return "has Python's text of bytes, b'...'; write base64.b64encode(image).decode()";
  }
  return "";
}

absl::StatusOr<std::string> ReadBase64(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const absl::string_view url(text.data() + begin, text.size() - begin);
  if (!absl::StartsWithIgnoreCase(url, "data:")) return Decode(text);
  const size_t comma = url.find(',');
  if (comma == absl::string_view::npos || !absl::EndsWithIgnoreCase(url.substr(0, comma), ";base64")) {
    return absl::InvalidArgumentError(
        "is a data URL that is not base64; it must begin like data:image/jpeg;base64, including the comma");
  }
  const std::string_view data = text.substr(begin + comma + 1);
  return data.find('%') == std::string_view::npos ? Decode(data) : Decode(WithoutEscapes(data));
}

}  // namespace vitrine
