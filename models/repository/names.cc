// SPDX-License-Identifier: Apache-2.0
#include "models/repository/names.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"

namespace vitrine {

bool IsPlainName(std::string_view name) {
  constexpr size_t kLongest = 64;
  if (name.empty() || name.size() > kLongest || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; });
}

std::optional<int64_t> ParseVersion(std::string_view name) {
  if (name.empty() || name.front() < '1' || name.front() > '9') return std::nullopt;
  int64_t version = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return version;
}

}  // namespace vitrine
