// SPDX-License-Identifier: Apache-2.0
#include "common/data/unicode.h"

#include <uninorm.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "common/utf8.h"

namespace vitrine {
namespace {

// The blanks of ASCII, U+00A0, U+2000 to U+200B, U+2028, U+2029, U+202F, U+205F, U+2060, U+3000, U+FEFF.
constexpr std::string_view kBlanks[] = {" ",
                                        "\t",
                                        "\n",
                                        "\v",
                                        "\f",
                                        "\r",
                                        "\xC2\xA0",
                                        "\xE2\x80\x80",
                                        "\xE2\x80\x81",
                                        "\xE2\x80\x82",
                                        "\xE2\x80\x83",
                                        "\xE2\x80\x84",
                                        "\xE2\x80\x85",
                                        "\xE2\x80\x86",
                                        "\xE2\x80\x87",
                                        "\xE2\x80\x88",
                                        "\xE2\x80\x89",
                                        "\xE2\x80\x8A",
                                        "\xE2\x80\x8B",
                                        "\xE2\x80\xA8",
                                        "\xE2\x80\xA9",
                                        "\xE2\x80\xAF",
                                        "\xE2\x81\x9F",
                                        "\xE2\x81\xA0",
                                        "\xE3\x80\x80",
                                        "\xEF\xBB\xBF"};

// Returns the size in bytes of the first blank for which `has` is true; 0 if there is none.
template <typename Has>
size_t BlankSize(Has has) {
  const auto* const found = std::find_if(std::begin(kBlanks), std::end(kBlanks), has);
  return found == std::end(kBlanks) ? 0 : found->size();
}

std::string Normalised(uninorm_t form, std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
  if (ascii || !IsUtf8(text)) return std::string(text);
  size_t bytes = 0;
  const std::unique_ptr<uint8_t, decltype(&std::free)> normal(
      u8_normalize(form, reinterpret_cast<const uint8_t*>(text.data()), text.size(), nullptr, &bytes), &std::free);
  if (normal == nullptr) return std::string(text);
  return {reinterpret_cast<const char*>(normal.get()), bytes};
}

}  // namespace

std::string Composed(std::string_view text) {
  return Normalised(UNINORM_NFC, text);
}

std::string Decomposed(std::string_view text) {
  return Normalised(UNINORM_NFD, text);
}

std::string_view WithoutTrailingBlanks(std::string_view text) {
  const auto ends = [&](std::string_view blank) { return text.ends_with(blank); };
  while (const size_t blank = BlankSize(ends)) text.remove_suffix(blank);
  return text;
}

std::string_view WithoutBlanks(std::string_view text) {
  const auto starts = [&](std::string_view blank) { return text.starts_with(blank); };
  while (const size_t blank = BlankSize(starts)) text.remove_prefix(blank);
  return WithoutTrailingBlanks(text);
}

bool SameNames(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const std::string& x, const std::string& y) { return Composed(x) == Composed(y); });
}

}  // namespace vitrine
