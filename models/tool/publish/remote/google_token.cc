// SPDX-License-Identifier: Apache-2.0
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/tool/publish/remote/bearer_token.h"
#include "models/tool/publish/remote/store.h"

namespace vitrine {
namespace {

constexpr char kScope[] = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr char kTokenUri[] = "https://oauth2.googleapis.com/token";

// Returns the RS256 signature of a text.
absl::StatusOr<std::string> SignWithRsa(const std::string& pem, const std::string& text) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bytes(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
      PEM_read_bio_PrivateKey(bytes.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  size_t size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (key == nullptr || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) != 1) {
    return absl::FailedPreconditionError("private_key of the service account is not an RSA key");
  }
  std::string signature(size, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, data, text.size());
  return signature;
}

FetchRequest Form(const std::string& url, std::string body) {
  return {.url = url,
          .method = "POST",
          .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
          .body = std::move(body),
          .follow = false};
}

absl::StatusOr<BearerToken> FromServiceAccount(const Surroundings& surroundings, const std::string& json) {
  std::string uri = JsonField(json, "token_uri");
  if (uri.empty()) uri = kTokenUri;
  const int64_t now = absl::ToUnixSeconds(surroundings.now());
  const nlohmann::json claims = {
      {"iss", JsonField(json, "client_email")}, {"scope", kScope}, {"aud", uri}, {"iat", now}, {"exp", now + 3600}};
  const std::string text = absl::StrCat(absl::WebSafeBase64Escape(R"({"alg":"RS256","typ":"JWT"})"), ".",
                                        absl::WebSafeBase64Escape(claims.dump()));
  ASSIGN_OR_RETURN(const std::string signature, SignWithRsa(JsonField(json, "private_key"), text));
  return AskForToken(surroundings,
                     Form(uri, absl::StrCat("grant_type=", UrlEncoded("urn:ietf:params:oauth:grant-type:jwt-bearer"),
                                            "&assertion=", text, ".", absl::WebSafeBase64Escape(signature))));
}

absl::StatusOr<BearerToken> FromUser(const Surroundings& surroundings, const std::string& json) {
  std::string body = "grant_type=refresh_token";
  for (const char* name : {"client_id", "client_secret", "refresh_token"}) {
    absl::StrAppend(&body, "&", name, "=", UrlEncoded(JsonField(json, name)));
  }
  return AskForToken(surroundings, Form(kTokenUri, std::move(body)));
}

absl::StatusOr<BearerToken> FromMetadata(const Surroundings& surroundings) {
  std::string host = surroundings.variable("GCE_METADATA_HOST");
  if (host.empty()) host = "metadata.google.internal";
  const absl::StatusOr<BearerToken> token =
      AskForToken(surroundings,
                  {.url = absl::StrCat("http://", host, "/computeMetadata/v1/instance/service-accounts/default/token"),
                   .headers = {{"Metadata-Flavor", "Google"}},
                   .connect_seconds = 2,
                   .follow = false});
  if (token.ok()) return token;
  return absl::FailedPreconditionError(absl::StrCat(
      "there are no Google credentials: GOOGLE_APPLICATION_CREDENTIALS names no file, `gcloud auth application-default "
      "login` was not run, and the metadata server does not answer: ",
      token.status().message()));
}

}  // namespace

std::string JsonField(const std::string& json, const char* name) {
  const auto parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  const bool has = parsed.is_object() && parsed.contains(name) && parsed[name].is_string();
  return has ? parsed[name].get<std::string>() : "";
}

absl::StatusOr<BearerToken> AskForToken(const Surroundings& surroundings, const FetchRequest& request) {
  ASSIGN_OR_RETURN(const FetchReply reply, surroundings.ask(request));
  RETURN_IF_ERROR(ErrorOfReply(request.url, reply));
  const auto json = nlohmann::json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
  const std::string text = JsonField(reply.body, "access_token");
  // Azure's metadata service sends expires_in as a string, not as a number.
  const bool has_life = json.is_object() && json.contains("expires_in");
  const std::string life = !has_life                        ? ""
                           : json["expires_in"].is_string() ? json["expires_in"].get<std::string>()
                                                            : json["expires_in"].dump();
  int64_t seconds = 0;
  if (text.empty() || !absl::SimpleAtoi(life, &seconds) || seconds < 1) {
    return absl::FailedPreconditionError(absl::StrCat(request.url, " does not return a token"));
  }
  return BearerToken{text, surroundings.now() + absl::Seconds(seconds)};
}

absl::StatusOr<BearerToken> FindGoogleToken(const Surroundings& surroundings) {
  const std::string named = surroundings.variable("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string by_default =
      absl::StrCat(surroundings.variable("HOME"), "/.config/gcloud/application_default_credentials.json");
  const absl::StatusOr<std::string> json = ReadSecretFile(named.empty() ? by_default : named);
  if (!json.ok()) {
    if (named.empty()) return FromMetadata(surroundings);
    return absl::FailedPreconditionError(absl::StrCat("GOOGLE_APPLICATION_CREDENTIALS: ", json.status().message()));
  }
  const std::string type = JsonField(*json, "type");
  if (type == "service_account") return FromServiceAccount(surroundings, *json);
  if (type == "authorized_user") return FromUser(surroundings, *json);
  return absl::FailedPreconditionError(absl::StrCat("the Google credentials are of type \"", type,
                                                    "\"; supported are service_account and authorized_user"));
}

}  // namespace vitrine
