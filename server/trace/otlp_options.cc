// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_options.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "server/identity/guarded_file.h"

namespace vitrine {
namespace {

bool IsHeaderName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

absl::Status OtlpOptions::Validate() const {
  absl::string_view address = endpoint;
  if (!absl::ConsumePrefix(&address, "https://")) absl::ConsumePrefix(&address, "http://");
  absl::ConsumeSuffix(&address, "/");
  const size_t colon = address.rfind(':');
  int port = 0;
  if (!endpoint.empty() && (colon == absl::string_view::npos || colon == 0 || absl::StrContains(address, '/') ||
                            !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 1 || port > 65535)) {
    return absl::InvalidArgumentError(absl::StrCat("--otlp-endpoint is \"", endpoint,
                                                   "\"; it must be HOST:PORT of a collector's OTLP over gRPC, for "
                                                   "instance 127.0.0.1:4317, with https:// in front for TLS"));
  }
  if (!(sample >= 0 && sample <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--trace-sample is ", sample, "; it must be 0 to 1, the share of the requests that are traced"));
  }
  if (!headers.empty() && endpoint.empty()) return absl::InvalidArgumentError("--otlp-headers needs --otlp-endpoint");
  return absl::OkStatus();
}

absl::StatusOr<OtlpHeaders> ReadOtlpHeaders(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadGuardedFile("--otlp-headers", path, Guard::kNobodyElseReads));
  OtlpHeaders headers;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(':');
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, colon));
    const absl::string_view value =
        colon == absl::string_view::npos ? "" : absl::StripAsciiWhitespace(line.substr(colon + 1));
    const bool is_text = std::all_of(value.begin(), value.end(),
                                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
    if (!IsHeaderName(name) || value.empty() || !is_text) {
      return absl::InvalidArgumentError(
          absl::StrCat("--otlp-headers ", path, " line ", number, " is no header; write NAME: VALUE"));
    }
    headers.emplace_back(absl::AsciiStrToLower(name), value);
  }
  return headers;
}

}  // namespace vitrine
