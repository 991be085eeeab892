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

bool IsThisMachine(std::string_view host_and_port) {
  const size_t name = host_and_port.starts_with("[::1]") ? 5 : std::min(host_and_port.find(':'), host_and_port.size());
  const std::string_view host = host_and_port.substr(0, name);
  std::string_view port = host_and_port.substr(name);
  if (port.starts_with(":")) port.remove_prefix(1);
  const auto consists_of = [](std::string_view text, std::string_view characters) {
    return text.find_first_not_of(characters) == std::string_view::npos;
  };
  return consists_of(port, "0123456789") &&
         (host == "localhost" || host == "[::1]" || (host.starts_with("127.") && consists_of(host, ".0123456789")));
}

}  // namespace vitrine
