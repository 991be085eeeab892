// SPDX-License-Identifier: Apache-2.0
#include "common/data/unicode.h"

#include <uninorm.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "common/utf8.h"

namespace vitrine {

std::string Composed(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
  if (ascii || !IsUtf8(text)) return std::string(text);
  size_t bytes = 0;
  const std::unique_ptr<uint8_t, decltype(&std::free)> composed(
      u8_normalize(UNINORM_NFC, reinterpret_cast<const uint8_t*>(text.data()), text.size(), nullptr, &bytes),
      &std::free);
  if (composed == nullptr) return std::string(text);
  return {reinterpret_cast<const char*>(composed.get()), bytes};
}

bool SameNames(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const std::string& x, const std::string& y) { return Composed(x) == Composed(y); });
}

}  // namespace vitrine
