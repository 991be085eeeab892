// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/refusal.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/http/body.h"
#include "server/process/shed.h"
#include "server/wire/http/json_document.h"
#include "server/wire/rpc/grpc_status.h"

namespace vitrine {
namespace {

// Keeps members in the order in which they are added.
using ErrorJson = nlohmann::ordered_json;

constexpr char kMemberUrl[] = "vitrine/member";

}  // namespace

int HttpCode(const absl::Status& status) {
  return IsTooLarge(status) ? 413 : HttpCode(status.code());
}

int HttpCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string ErrorBody(const absl::Status& status) {
  return JsonDocument::TextOf(ErrorJson{{"error", ToGrpcStatus(status).message}});
}

std::string TypedErrorBody(const absl::Status& status) {
  // The member "error" comes first, because people read it.
  return JsonDocument::TextOf(
             ErrorJson{{"error", ToGrpcStatus(status).message}, {"code", absl::StatusCodeToString(status.code())}}) +
         "\n";
}

std::string OpenAiErrorBody(const absl::Status& status) {
  constexpr int kServerErrors = 500;
  const bool is_of_request = HttpCode(status) < kServerErrors || absl::IsUnimplemented(status);
  const std::string code = absl::StatusCodeToString(status.code());
  const auto member = status.GetPayload(kMemberUrl);
  const ErrorJson error = {{"message", ToGrpcStatus(status).message},
                           {"type", is_of_request ? "invalid_request_error" : "server_error"},
                           {"param", member.has_value() ? ErrorJson(std::string(*member)) : ErrorJson()},
                           {"code", code}};
  return JsonDocument::TextOf(ErrorJson{{"error", error}, {"code", code}}) + "\n";
}

absl::Status AboutMember(absl::Status status, absl::string_view member) {
  status.SetPayload(kMemberUrl, absl::Cord(member));
  return status;
}

HttpResponse Refusal(const absl::Status& status, std::string (*body_of)(const absl::Status&)) {
  HttpResponse response = {.code = HttpCode(status), .body = body_of(status)};
  const std::optional<absl::Duration> retry_after = RetryAfter(status);
  if (retry_after.has_value()) {
    response.headers.emplace_back("Retry-After", absl::StrCat(std::ceil(absl::ToDoubleSeconds(*retry_after))));
  }
  if (response.code == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse MethodNotAllowed(absl::string_view allow, std::string (*body_of)(const absl::Status&),
                              absl::string_view sentence) {
  const std::string alone = absl::StrCat("this path accepts only ", allow);
  return {.code = 405,
          .body = body_of(absl::UnimplementedError(sentence.empty() ? absl::string_view(alone) : sentence)),
          .headers = {{"Allow", std::string(allow)}}};
}

}  // namespace vitrine
