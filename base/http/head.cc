// SPDX-License-Identifier: Apache-2.0
#include "base/http/head.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace vitrine {
namespace {

constexpr absl::string_view kLineEnd = "\r\n";
constexpr absl::string_view kHeadEnd = "\r\n\r\n";

absl::Status Malformed(const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("the request is not HTTP/1.1: ", what));
}

// What methods and names of headers are made of (RFC 9110, token).
bool IsToken(absl::string_view text) {
  constexpr absl::string_view kOthers = "!#$%&'*+-.^_`|~";
  for (const char c : text) {
    if (!absl::ascii_isalnum(c) && kOthers.find(c) == absl::string_view::npos) return false;
  }
  return !text.empty();
}

bool HasControl(absl::string_view text) {
  for (const char c : text) {
    if (absl::ascii_iscntrl(c) && c != '\t') return true;
  }
  return false;
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
  return path;
}

absl::Status ReadRequestLine(absl::string_view line, HttpHead& head) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
  if (parts.size() != 3 || !IsToken(parts[0]) || parts[1].empty() || HasControl(parts[1])) {
    return Malformed("the first line must be a method, a path and the version");
  }
  if (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0") return Malformed("no other version is spoken here");
  head.method = std::string(parts[0]);
  head.minor_version = parts[2].back() - '0';
  absl::string_view target = parts[1];
  if (absl::StartsWithIgnoreCase(target, "http://")) {  // as proxies are asked
    target.remove_prefix(absl::string_view("http://").size());
    const size_t slash = target.find('/');
    target = slash == absl::string_view::npos ? "/" : target.substr(slash);
  }
  const size_t question = target.find('?');
  if (question != absl::string_view::npos) head.query = std::string(target.substr(question + 1));
  ASSIGN_OR_RETURN(head.path, DecodePath(target.substr(0, question)));
  return absl::OkStatus();
}

absl::Status ReadHeader(absl::string_view line, HttpHead& head) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos || !IsToken(line.substr(0, colon))) {
    return Malformed("a header must be a name, a colon and a value");
  }
  const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (HasControl(value)) return Malformed("a header's value holds a control character");
  head.headers.emplace_back(std::string(line.substr(0, colon)), std::string(value));
  return absl::OkStatus();
}

// A body whose end two readers may see at different places would let one hide a request from the other.
absl::Status CheckLength(const HttpHead& head) {
  const std::optional<std::string> length = head.Header("Content-Length");
  if (!length.has_value()) return absl::OkStatus();
  int64_t bytes = 0;
  const bool digits = length->find_first_not_of("0123456789") == std::string::npos;
  if (!digits || !absl::SimpleAtoi(*length, &bytes)) return Malformed("Content-Length must be one whole number");
  if (head.Header("Transfer-Encoding").has_value()) {
    return Malformed("Content-Length and Transfer-Encoding exclude each other");
  }
  return absl::OkStatus();
}

}  // namespace

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

size_t HttpHeadBytes(absl::string_view received) {
  const size_t end = received.find(kHeadEnd);
  return end == absl::string_view::npos ? 0 : end + kHeadEnd.size();
}

absl::StatusOr<HttpHead> ParseHttpHead(absl::string_view head) {
  if (head.size() > kMaxHttpHeadBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the head of the request is longer than ", kMaxHttpHeadBytes, " bytes"));
  }
  if (!absl::EndsWith(head, kHeadEnd)) return Malformed("an empty line must end the head");
  head.remove_suffix(kHeadEnd.size());
  HttpHead read;
  bool is_first = true;
  for (const absl::string_view line : absl::StrSplit(head, kLineEnd)) {
    RETURN_IF_ERROR(is_first ? ReadRequestLine(line, read) : ReadHeader(line, read));
    is_first = false;
  }
  RETURN_IF_ERROR(CheckLength(read));
  return read;
}

}  // namespace vitrine
