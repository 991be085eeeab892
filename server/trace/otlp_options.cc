// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_options.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "server/identity/guarded_file.h"

namespace vitrine {
namespace {

constexpr absl::string_view kPortOfGrpc = "4317";

// Headers that --otlp-headers must not set, because OtlpCollector and HttpClient determine them.
constexpr absl::string_view kOwnHeaders[] = {"host",       "content-length",    "content-type", "content-encoding",
                                             "connection", "transfer-encoding", "expect",       "accept",
                                             "user-agent"};

bool IsHeaderName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

absl::StatusOr<HttpUrl> CollectorUrl(const std::string& endpoint) {
  absl::StatusOr<HttpUrl> url = ParseHttpUrl(endpoint);
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("--otlp-endpoint is \"", endpoint, "\", which ", why,
                                                   "; it must be a collector's address for OTLP over HTTP, for example "
                                                   "http://127.0.0.1:4318, with https:// for TLS"));
  };
  if (!url.ok()) return refuse(url.status().message());
  if (url->port == kPortOfGrpc)
    return refuse("is a collector's port for gRPC, which the server does not use for spans");
  if (url->path == "/") url->path = "/v1/traces";
  return url;
}

absl::Status OtlpOptions::Validate() const {
  if (!endpoint.empty()) RETURN_IF_ERROR(CollectorUrl(endpoint).status());
  if (!(sample >= 0 && sample <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--trace-sample is ", sample, "; it must be 0 to 1, the fraction of requests that is traced"));
  }
  if (!headers.empty() && endpoint.empty()) return absl::InvalidArgumentError("--otlp-headers needs --otlp-endpoint");
  if (sample != OtlpOptions().sample && endpoint.empty()) {
    return absl::InvalidArgumentError("--trace-sample needs --otlp-endpoint");
  }
  return absl::OkStatus();
}

absl::StatusOr<OtlpHeaders> ReadOtlpHeaders(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadGuardedFile("--otlp-headers", path, Guard::kNoOtherReaders));
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
          absl::StrCat("--otlp-headers ", path, " line ", number, " is not a header; write NAME: VALUE"));
    }
    headers.emplace_back(absl::AsciiStrToLower(name), value);
    if (std::find(std::begin(kOwnHeaders), std::end(kOwnHeaders), headers.back().first) != std::end(kOwnHeaders)) {
      return absl::InvalidArgumentError(absl::StrCat("--otlp-headers ", path, " line ", number, " has ",
                                                     headers.back().first, ", which the server sets"));
    }
  }
  return headers;
}

}  // namespace vitrine
