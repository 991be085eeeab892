// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/cors.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Time for which browsers may cache a preflight answer, in seconds.
constexpr char kMaxAge[] = "600";

bool IsOrigin(const std::string& text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!absl::StartsWith(text, absl::string_view(scheme.data(), scheme.size()))) continue;
    const std::string_view host = std::string_view(text).substr(scheme.size());
    return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
      return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '-' || c == ':' || c == '[' ||
             c == ']';
    });
  }
  return false;
}

}  // namespace

absl::Status CrossOrigin::Validate(const std::vector<std::string>& origins) {
  for (const std::string& each : origins) {
    if (IsOrigin(each)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--http-cors-origin is \"", each,
                     "\"; it must be the page's origin: http://HOST or https://HOST:PORT, without a path"));
  }
  return absl::OkStatus();
}

std::optional<HttpResponse> CrossOrigin::Apply(HttpRequest& request) const {
  if (origins_.empty()) return std::nullopt;
  // This header is added even if no origin matches: a cache must not serve the answer for one origin to another origin.
  request.answer_headers.emplace_back("Vary", "Origin");
  const std::optional<std::string> origin = request.Header("Origin");
  if (!origin.has_value() || std::find(origins_.begin(), origins_.end(), *origin) == origins_.end()) {
    return std::nullopt;
  }
  request.answer_headers.emplace_back("Access-Control-Allow-Origin", *origin);
  if (request.method() != "OPTIONS" || !request.Header("Access-Control-Request-Method").has_value()) {
    request.answer_headers.emplace_back("Access-Control-Expose-Headers",
                                        "Inference-Header-Content-Length, Retry-After, X-Request-Id");
    return std::nullopt;
  }
  request.answer_headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
  request.answer_headers.emplace_back(
      "Access-Control-Allow-Headers",
      "Authorization, Content-Encoding, Content-Type, Inference-Header-Content-Length, traceparent, X-Request-Id");
  request.answer_headers.emplace_back("Access-Control-Max-Age", kMaxAge);
  return HttpResponse{.code = 204};
}

}  // namespace vitrine
