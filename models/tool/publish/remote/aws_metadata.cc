// SPDX-License-Identifier: Apache-2.0
// Gets the credentials of a container's or an instance's role from services at link-local addresses.
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "models/tool/publish/remote/aws_credentials.h"
#include "models/tool/publish/remote/store.h"

namespace vitrine {
namespace {

constexpr int kConnectSeconds = 2;  // without the service, the connection attempt gets no answer

absl::StatusOr<AwsCredentials> ParseCredentials(const std::string& url, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto field = [&](const char* name) {
    const bool has = json.is_object() && json.contains(name) && json[name].is_string();
    return has ? json[name].get<std::string>() : std::string();
  };
  AwsCredentials got = {.key = field("AccessKeyId"), .secret = field("SecretAccessKey"), .token = field("Token")};
  if (got.key.empty() || got.secret.empty() ||
      !absl::ParseTime(absl::RFC3339_full, field("Expiration"), &got.expires, nullptr)) {
    return absl::FailedPreconditionError(absl::StrCat(url, " does not return credentials"));
  }
  return got;
}

absl::StatusOr<std::string> Get(const Surroundings& surroundings, FetchRequest request) {
  request.follow = false;
  request.connect_seconds = kConnectSeconds;
  ASSIGN_OR_RETURN(FetchReply reply, surroundings.ask(request));
  RETURN_IF_ERROR(ErrorOfReply(request.url, reply));
  return std::move(reply.body);
}

}  // namespace

absl::StatusOr<AwsCredentials> AwsFromContainer(const Surroundings& surroundings) {
  const std::string relative = surroundings.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = surroundings.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return absl::NotFoundError("no AWS_CONTAINER_CREDENTIALS_..._URI is set");
  FetchRequest request = {.url = relative.empty() ? full : absl::StrCat("http://169.254.170.2", relative)};
  std::string token = surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  // Pod Identity renews the token in the file, so the file is read each time.
  const std::string file = surroundings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) {
    const absl::StatusOr<std::string> read = ReadSecretFile(file);
    if (!read.ok()) return absl::FailedPreconditionError(read.status().message());
    token = std::string(absl::StripAsciiWhitespace(*read));
  }
  if (!token.empty()) request.headers["Authorization"] = token;
  const absl::StatusOr<std::string> text = Get(surroundings, request);
  if (!text.ok()) return absl::UnavailableError(text.status().message());
  return ParseCredentials(request.url, *text);
}

absl::StatusOr<AwsCredentials> AwsFromInstance(const Surroundings& surroundings) {
  if (absl::EqualsIgnoreCase(surroundings.variable("AWS_EC2_METADATA_DISABLED"), "true")) {
    return absl::NotFoundError("AWS_EC2_METADATA_DISABLED is true");
  }
  std::string base = surroundings.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (base.empty()) base = "http://169.254.169.254";
  base = std::string(absl::StripSuffix(base, "/"));
  const absl::StatusOr<std::string> token =
      Get(surroundings, {.url = base + "/latest/api/token",
                         .method = "PUT",
                         .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}});
  // Outside of EC2, there is no metadata service at this address, or another cloud's service.
  if (!token.ok()) return absl::NotFoundError(token.status().message());
  const std::map<std::string, std::string> headers = {{"X-aws-ec2-metadata-token", *token}};
  const std::string url = base + "/latest/meta-data/iam/security-credentials/";
  ASSIGN_OR_RETURN(const std::string role, Get(surroundings, {.url = url, .headers = headers}));
  const std::string of_role = url + UrlEncoded(absl::StripAsciiWhitespace(role));
  ASSIGN_OR_RETURN(const std::string text, Get(surroundings, {.url = of_role, .headers = headers}));
  return ParseCredentials(of_role, text);
}

}  // namespace vitrine
