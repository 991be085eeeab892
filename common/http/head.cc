// SPDX-License-Identifier: Apache-2.0
#include "common/http/head.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace vitrine {
namespace {

absl::Status Malformed(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("the request is not HTTP/1.1: ", what));
}

absl::StatusOr<std::string> DecodePath(absl::string_view encoded) {
  std::string path;
  path.reserve(encoded.size());
  for (size_t i = 0; i < encoded.size(); ++i) {
    if (encoded[i] != '%') {
      path += encoded[i];
      continue;
    }
    if (i + 2 >= encoded.size() || !absl::ascii_isxdigit(encoded[i + 1]) || !absl::ascii_isxdigit(encoded[i + 2])) {
      return Malformed("two hexadecimal digits must follow a % of the path");
    }
    path += absl::HexStringToBytes(encoded.substr(i + 1, 2));
    if (path.back() == '\0') return Malformed("the path holds a zero byte");
    i += 2;
  }
  if (!IsUtf8(path)) return Malformed("the path is not UTF-8");
  return path;
}

}  // namespace

absl::Status ReadTarget(absl::string_view target, HttpHead& head) {
  for (const absl::string_view scheme : {"http://", "https://"}) {  // a request to a proxy starts with a scheme
    if (!absl::StartsWithIgnoreCase(target, scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t slash = target.find('/');
    target = slash == absl::string_view::npos ? "/" : target.substr(slash);
    break;
  }
  const size_t question = target.find('?');
  if (question != absl::string_view::npos) head.query = std::string(target.substr(question + 1));
  head.has_escapes = absl::StrContains(target.substr(0, question), '%');
  ASSIGN_OR_RETURN(head.path, DecodePath(target.substr(0, question)));
  return absl::OkStatus();
}

absl::Status CheckBodyLength(const HttpHead& head) {
  const std::optional<std::string> length = head.Header("Content-Length");
  const std::optional<std::string> coding = head.Header("Transfer-Encoding");
  if (coding.has_value() && !absl::EqualsIgnoreCase(*coding, "chunked")) {
    return Malformed("the only Transfer-Encoding supported is chunked");
  }
  if (coding.has_value() && head.minor_version == 0) return Malformed("HTTP/1.0 has no Transfer-Encoding");
  if (!length.has_value()) return absl::OkStatus();
  int64_t bytes = 0;
  const bool digits = length->find_first_not_of("0123456789") == std::string::npos;
  if (!digits || !absl::SimpleAtoi(*length, &bytes)) return Malformed("Content-Length must be one whole number");
  if (coding.has_value()) return Malformed("Content-Length and Transfer-Encoding exclude each other");
  return absl::OkStatus();
}

absl::Status CheckHost(const HttpHead& head) {
  const auto hosts = std::count_if(head.headers.begin(), head.headers.end(),
                                   [](const auto& each) { return absl::EqualsIgnoreCase(each.first, "Host"); });
  if (hosts == 0 && head.major_version == 1 && head.minor_version == 0) return absl::OkStatus();
  if (hosts == 0) return Malformed("the header Host is missing");
  if (hosts > 1) return Malformed("the header Host occurs more than once");
  const std::string host = head.Header("Host").value_or("");
  for (const unsigned char c : host) {
    if (!absl::ascii_isgraph(c) || absl::StrContains("/?#@\\\"<>^`{|}", c)) {
      return Malformed("the header Host is not HOST or HOST:PORT");
    }
  }
  return absl::OkStatus();
}

std::optional<std::string> HttpHead::Header(absl::string_view name) const {
  std::optional<std::string> found;
  for (const auto& [each, value] : headers) {
    if (!absl::EqualsIgnoreCase(each, name)) continue;
    if (found.has_value()) return "";
    found = value;
  }
  return found;
}

std::optional<int64_t> HttpHead::ContentLength() const {
  int64_t bytes = 0;
  if (!absl::SimpleAtoi(Header("Content-Length").value_or(""), &bytes)) return std::nullopt;
  return bytes;
}

bool HttpHead::AnnouncesBody() const {
  return ContentLength().value_or(0) > 0 || Header("Transfer-Encoding").has_value();
}

bool HttpHead::KeepsAlive() const {
  bool close = false, keep = false;
  for (const auto& [name, value] : headers) {
    if (!absl::EqualsIgnoreCase(name, "Connection")) continue;
    for (const absl::string_view each : absl::StrSplit(value, ',')) {
      const absl::string_view option = absl::StripAsciiWhitespace(each);
      close = close || absl::EqualsIgnoreCase(option, "close");
      keep = keep || absl::EqualsIgnoreCase(option, "keep-alive");
    }
  }
  return !close && (keep || minor_version > 0);
}

}  // namespace vitrine
