// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "models/tool/publish/remote/bearer_token.h"
#include "models/tool/publish/remote/store.h"

namespace vitrine {
namespace {

constexpr char kResource[] = "https://storage.azure.com/";

absl::StatusOr<BearerToken> FromWorkload(const Surroundings& surroundings, const std::string& file) {
  const absl::StatusOr<std::string> assertion = ReadSecretFile(file);
  if (!assertion.ok()) return absl::FailedPreconditionError(assertion.status().message());
  std::string authority = surroundings.variable("AZURE_AUTHORITY_HOST");
  if (authority.empty()) authority = "https://login.microsoftonline.com/";
  const std::string body =
      absl::StrCat("grant_type=client_credentials&client_id=", UrlEncoded(surroundings.variable("AZURE_CLIENT_ID")),
                   "&scope=", UrlEncoded(absl::StrCat(kResource, ".default")),
                   "&client_assertion_type=", UrlEncoded("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                   "&client_assertion=", UrlEncoded(absl::StripAsciiWhitespace(*assertion)));
  return AskForToken(surroundings,
                     {.url = absl::StrCat(authority, authority.back() == '/' ? "" : "/",
                                          UrlEncoded(surroundings.variable("AZURE_TENANT_ID")), "/oauth2/v2.0/token"),
                      .method = "POST",
                      .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                      .body = body,
                      .follow = false});
}

}  // namespace

absl::StatusOr<BearerToken> FindAzureToken(const Surroundings& surroundings) {
  const std::string file = surroundings.variable("AZURE_FEDERATED_TOKEN_FILE");
  if (!file.empty()) return FromWorkload(surroundings, file);
  const std::string client = surroundings.variable("AZURE_CLIENT_ID");
  const std::string which = client.empty() ? "" : absl::StrCat("&client_id=", UrlEncoded(client));
  const absl::StatusOr<BearerToken> token = AskForToken(
      surroundings,
      {.url = absl::StrCat("http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=",
                           UrlEncoded(kResource), which),
       .headers = {{"Metadata", "true"}},
       .connect_seconds = 2,
       .follow = false});
  if (token.ok()) return token;
  return absl::FailedPreconditionError(absl::StrCat(
      "there are no Azure credentials: AZURE_STORAGE_SAS_TOKEN and AZURE_FEDERATED_TOKEN_FILE are not set, "
      "and the machine has no managed identity: ",
      token.status().message()));
}

}  // namespace vitrine
