// SPDX-License-Identifier: Apache-2.0
// Gets the credentials of roles from AWS's Security Token Service (STS).
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/tool/publish/remote/aws_credentials.h"
#include "models/tool/publish/remote/store.h"

namespace vitrine {
namespace {

// Returns the text of an element; empty if it is missing. Does not decode XML entities, because STS's values contain
// none.
std::string Element(absl::string_view xml, const std::string& name) {
  const std::string open = absl::StrCat("<", name, ">");
  const size_t at = xml.find(open);
  if (at == absl::string_view::npos) return "";
  xml.remove_prefix(at + open.size());
  return std::string(xml.substr(0, xml.find("</")));
}

std::string StsUrl(const Surroundings& surroundings, const std::string& region) {
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    if (const std::string url = surroundings.variable(name); !url.empty()) return absl::StrCat(url, "/");
  }
  return absl::StrCat("https://sts.", region, ".amazonaws.com", absl::StartsWith(region, "cn-") ? ".cn/" : "/");
}

// Sends an action to STS, signed with the credentials `as` unless they are null.
absl::StatusOr<AwsCredentials> AskSts(const Surroundings& surroundings, const AwsCredentials* as,
                                      const std::vector<std::pair<std::string, std::string>>& parameters) {
  const std::string region = AwsRegion(surroundings);
  FetchRequest request = {.url = StsUrl(surroundings, region), .method = "POST", .follow = false};
  request.headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8";
  request.body = "Version=2011-06-15";
  for (const auto& [name, value] : parameters) absl::StrAppend(&request.body, "&", name, "=", UrlEncoded(value));
  if (as != nullptr) SignForAws(request, *as, region, "sts", Sha256Hex(request.body), surroundings.now());
  ASSIGN_OR_RETURN(const FetchReply reply, surroundings.ask(request));
  const absl::Status status = ErrorOfReply(request.url, reply);
  if (absl::IsNotFound(status)) return absl::FailedPreconditionError(status.message());
  RETURN_IF_ERROR(status);
  AwsCredentials got = {.key = Element(reply.body, "AccessKeyId"),
                        .secret = Element(reply.body, "SecretAccessKey"),
                        .token = Element(reply.body, "SessionToken")};
  if (got.key.empty() || got.secret.empty() ||
      !absl::ParseTime(absl::RFC3339_full, Element(reply.body, "Expiration"), &got.expires, nullptr)) {
    return absl::FailedPreconditionError(absl::StrCat(request.url, " does not return credentials"));
  }
  return got;
}

std::string SessionName(const std::string& name) {
  return name.empty() ? "vitrine-repo" : name;
}

}  // namespace

absl::StatusOr<AwsCredentials> AssumeRoleWithToken(const Surroundings& surroundings, const std::string& role,
                                                   const std::string& token_file, const std::string& session) {
  const absl::StatusOr<std::string> token = ReadSecretFile(token_file);
  if (!token.ok()) return absl::FailedPreconditionError(absl::StrCat("web identity: ", token.status().message()));
  return AskSts(surroundings, nullptr,
                {{"Action", "AssumeRoleWithWebIdentity"},
                 {"RoleArn", role},
                 {"RoleSessionName", SessionName(session)},
                 {"WebIdentityToken", std::string(absl::StripAsciiWhitespace(*token))}});
}

absl::StatusOr<AwsCredentials> AssumeRole(const Surroundings& surroundings, const AwsCredentials& as,
                                          const AwsProfile& profile) {
  const auto setting = [&](const char* name) {
    const auto found = profile.find(name);
    return found == profile.end() ? std::string() : found->second;
  };
  std::vector<std::pair<std::string, std::string>> parameters = {
      {"Action", "AssumeRole"},
      {"RoleArn", setting("role_arn")},
      {"RoleSessionName", SessionName(setting("role_session_name"))}};
  if (!setting("external_id").empty()) parameters.emplace_back("ExternalId", setting("external_id"));
  if (!setting("duration_seconds").empty()) parameters.emplace_back("DurationSeconds", setting("duration_seconds"));
  return AskSts(surroundings, &as, parameters);
}

absl::StatusOr<AwsCredentials> AwsFromWebIdentity(const Surroundings& surroundings) {
  const std::string file = surroundings.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (file.empty()) return absl::NotFoundError("AWS_WEB_IDENTITY_TOKEN_FILE is not set");
  const std::string role = surroundings.variable("AWS_ROLE_ARN");
  if (role.empty()) return absl::FailedPreconditionError("AWS_WEB_IDENTITY_TOKEN_FILE needs AWS_ROLE_ARN");
  return AssumeRoleWithToken(surroundings, role, file, surroundings.variable("AWS_ROLE_SESSION_NAME"));
}

}  // namespace vitrine
