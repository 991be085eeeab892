// SPDX-License-Identifier: Apache-2.0
#include "server/trace/otlp_collector.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/status.pb.h"

namespace vitrine {
namespace {

constexpr char kProtobuf[] = "application/x-protobuf";

absl::StatusCode CanonicalCode(int http_code) {
  switch (http_code) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 502:
    case 503:
    case 504:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kUnknown;
  }
}

// Returns a text with the HTTP code, and with the collector's message if it sent a google.rpc.Status.
std::string Reason(const HttpClient::Response& response) {
  google::rpc::Status details;
  const bool says = absl::EqualsIgnoreCase(response.type, kProtobuf) && details.ParseFromString(response.body) &&
                    !details.message().empty();
  return absl::StrCat("HTTP ", response.code, says ? ": " : "", says ? details.message() : "");
}

// Parses a retry-after header with a number of seconds. Returns nullopt for the other form of this header, a date.
std::optional<absl::Duration> RetryAfter(const std::string& header) {
  int64_t seconds = 0;
  if (!absl::SimpleAtoi(header, &seconds) || seconds < 0) return std::nullopt;
  return absl::Seconds(seconds);
}

}  // namespace

OtlpCollector::OtlpCollector(HttpUrl url, const OtlpHeaders& headers)
    : headers_({{"content-type", kProtobuf},
                {"accept", kProtobuf},
                {"user-agent", absl::StrCat("vitrine-server/", VITRINE_VERSION)}}),
      client_(std::move(url)) {
  headers_.insert(headers_.end(), headers.begin(), headers.end());
}

SpansSent OtlpCollector::Send(const OtlpRequest& request, OtlpResponse& response, absl::Duration timeout) {
  const auto answer = client_.Send("POST", headers_, request.SerializeAsString(), timeout);
  if (!answer.ok()) {
    return {.status = answer.status(),
            .may_pass = absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status())};
  }
  if (answer->code / 100 == 2) {
    const bool is_read = !absl::EqualsIgnoreCase(answer->type, kProtobuf) || response.ParseFromString(answer->body);
    if (is_read) return {.status = absl::OkStatus()};
    return {.status = absl::InternalError("the answer is not an OTLP message")};
  }
  const absl::StatusCode code = CanonicalCode(answer->code);
  return {.status = absl::Status(code, Reason(*answer)),
          .may_pass = code == absl::StatusCode::kResourceExhausted || code == absl::StatusCode::kUnavailable,
          .retry_after = RetryAfter(answer->retry_after)};
}

}  // namespace vitrine
