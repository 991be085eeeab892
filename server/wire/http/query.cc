// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/query.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"

namespace vitrine {
namespace {

bool IsHexDigit(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}

absl::Status RefusePart(std::string_view part, const char* why) {
  return absl::InvalidArgumentError(absl::StrCat("the URL's query has \"", Shown(part), "\", ", why));
}

absl::StatusOr<std::string> DecodePart(std::string_view encoded) {
  std::string text;
  text.reserve(encoded.size());
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      text += encoded[i] == '+' ? ' ' : encoded[i];
      continue;
    }
    if (i + 2 >= encoded.size() || !IsHexDigit(encoded[i + 1]) || !IsHexDigit(encoded[i + 2])) {
      return RefusePart(encoded, "where two hexadecimal digits must follow each %; a % itself is %25");
    }
    text += absl::HexStringToBytes(absl::string_view(encoded.data() + i + 1, 2));
    i += 2;
  }
  if (text.find('\0') != std::string::npos) return RefusePart(encoded, "which holds a zero byte");
  if (!IsUtf8(text)) return RefusePart(encoded, "which is not UTF-8");
  return text;
}

}  // namespace

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseQueryString(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    ASSIGN_OR_RETURN(std::string name, DecodePart(part.substr(0, equals)));
    ASSIGN_OR_RETURN(std::string value, DecodePart(part.substr(std::min(part.size(), equals + 1))));
    parameters.emplace_back(std::move(name), std::move(value));
  }
  return parameters;
}

}  // namespace vitrine
