// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "models/repository/names.h"
#include "models/tool/publish/remote/aws_credentials.h"
#include "models/tool/publish/remote/bearer_token.h"
#include "models/tool/publish/remote/bucket.h"
#include "models/tool/publish/remote/oci_registry.h"
#include "models/tool/publish/remote/store.h"
#include "models/tool/publish/remote/web_folder.h"

namespace vitrine {
namespace {

// Parts of an address like "s3://models/prod".
struct Address {
  std::string scheme, host, path;
};

Address Split(const std::string& text) {
  const std::pair<absl::string_view, absl::string_view> scheme = absl::StrSplit(text, absl::MaxSplits("://", 1));
  const std::pair<absl::string_view, absl::string_view> rest = absl::StrSplit(scheme.second, absl::MaxSplits('/', 1));
  return {std::string(scheme.first), std::string(rest.first), std::string(absl::StripSuffix(rest.second, "/"))};
}

std::string AsPrefix(const std::string& path) {
  return path.empty() ? "" : path + "/";
}

std::string S3Base(const std::string& bucket, const std::string& endpoint, const std::string& region) {
  if (!endpoint.empty()) return absl::StrCat(endpoint, "/", bucket);
  const std::string domain =
      absl::StrCat("s3.", region, ".amazonaws.com", absl::StartsWith(region, "cn-") ? ".cn" : "");
  // The bucket is in the path if its name has dots, because the wildcard in the certificate does not match dots.
  if (absl::StrContains(bucket, '.')) return absl::StrCat("https://", domain, "/", bucket);
  return absl::StrCat("https://", bucket, ".", domain);
}

std::unique_ptr<RemoteStore> OpenS3(const Address& address, std::string endpoint, const Surroundings& surroundings) {
  for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    if (endpoint.empty()) endpoint = surroundings.variable(name);
  }
  const std::string region = AwsRegion(surroundings);
  const auto credentials = std::make_shared<Renewed<AwsCredentials>>(
      [surroundings] { return FindAwsCredentials(surroundings); }, surroundings.now);
  const auto authorize = [=](FetchRequest& request, const std::string& sha256) -> absl::Status {
    ASSIGN_OR_RETURN(const AwsCredentials current, credentials->Get());
    SignForAws(request, current, region, "s3", sha256, surroundings.now());
    return absl::OkStatus();
  };
  const std::string base = S3Base(address.host, std::string(absl::StripSuffix(endpoint, "/")), region);
  return OpenBucket({.base = base,
                     .prefix = AsPrefix(address.path),
                     .authorize = authorize,
                     .forget = [credentials] { credentials->Forget(); }},
                    surroundings.ask);
}

// Sets the functions that add a token from `find` to each request.
template <typename Find>
void AuthorizeByToken(Find find, const Surroundings& surroundings, BucketOptions& options) {
  const auto token = std::make_shared<Renewed<BearerToken>>([=] { return find(surroundings); }, surroundings.now);
  options.authorize = [token](FetchRequest& request, const std::string&) -> absl::Status {
    ASSIGN_OR_RETURN(const BearerToken current, token->Get());
    request.headers["Authorization"] = absl::StrCat("Bearer ", current.text);
    return absl::OkStatus();
  };
  options.forget = [token] { token->Forget(); };
}

// Uses Google's XML API, which lists objects as S3 does.
std::unique_ptr<RemoteStore> OpenGoogle(const Address& address, const std::string& endpoint,
                                        const Surroundings& surroundings) {
  BucketOptions options = {
      .base = absl::StrCat(endpoint.empty() ? "https://storage.googleapis.com" : endpoint, "/", address.host),
      .prefix = AsPrefix(address.path),
      .create_headers = {{"x-goog-if-generation-match", "0"}}};
  AuthorizeByToken(FindGoogleToken, surroundings, options);
  return OpenBucket(std::move(options), surroundings.ask);
}

// Opens az://ACCOUNT/CONTAINER[/PREFIX].
std::unique_ptr<RemoteStore> OpenAzure(const Address& address, const std::string& endpoint,
                                       const Surroundings& surroundings) {
  const std::pair<std::string, std::string> path = absl::StrSplit(address.path, absl::MaxSplits('/', 1));
  const std::string service =
      endpoint.empty() ? absl::StrCat("https://", address.host, ".blob.core.windows.net") : endpoint;
  BucketOptions options = {.base = absl::StrCat(service, "/", path.first),
                           .prefix = AsPrefix(path.second),
                           .create_headers = {{"If-None-Match", "*"}, {"x-ms-blob-type", "BlockBlob"}},
                           .azure = true};
  const std::string sas = surroundings.variable("AZURE_STORAGE_SAS_TOKEN");
  if (sas.empty()) AuthorizeByToken(FindAzureToken, surroundings, options);
  options.authorize = [sas, by_token = options.authorize](FetchRequest& request, const std::string& sha256) {
    request.headers["x-ms-version"] = "2021-08-06";
    if (sas.empty()) return by_token(request, sha256);
    const absl::string_view query = absl::StripPrefix(sas, "?");
    absl::StrAppend(&request.url, absl::StrContains(request.url, '?') ? "&" : "?", query);
    return absl::OkStatus();
  };
  return OpenBucket(std::move(options), surroundings.ask);
}

std::unique_ptr<RemoteStore> OpenOci(const Address& address, const std::string& endpoint,
                                     const Surroundings& surroundings) {
  // Uses no TLS for a registry on this machine, as docker does.
  const char* const scheme = IsThisMachine(address.host) ? "http://" : "https://";
  const std::string base = !endpoint.empty() ? endpoint : absl::StrCat(scheme, address.host);
  return OpenOciRegistry(base, address.host, address.path, surroundings);
}

// Returns the error message in a service's reply, in one line.
std::string WordsOf(const std::string& body) {
  const size_t begin = body.find("<Message>");
  std::string words = begin == std::string::npos ? body : body.substr(begin + 9, body.find("</Message>") - begin - 9);
  for (char& c : words) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  constexpr size_t kMostWords = 200;
  return words.empty() ? "" : absl::StrCat(": ", words.substr(0, kMostWords));
}

}  // namespace

std::string Surroundings::Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  if (!file.read(text.data(), kMostBytes) && !file.eof()) return absl::NotFoundError(path + " cannot be read");
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string UrlEncoded(absl::string_view text, absl::string_view kept) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_.~", c) ||
        absl::StrContains(kept, c))
      encoded += c;
    else
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
  }
  return encoded;
}

absl::Status ErrorOfReply(const std::string& url, const FetchReply& reply) {
  if (reply.status >= 200 && reply.status < 300) return absl::OkStatus();
  const std::string text = absl::StrCat(url, " returned status ", reply.status, WordsOf(reply.body));
  if (reply.status == 401 || reply.status == 403) return absl::PermissionDeniedError(text);
  if (reply.status == 404) return absl::NotFoundError(text);
  if (reply.status == 409 || reply.status == 412) return absl::AlreadyExistsError(text);
  if (reply.status == 429 || reply.status >= 500) return absl::UnavailableError(text);
  const std::string region = reply.Header("x-amz-bucket-region");
  return absl::FailedPreconditionError(
      absl::StrCat(text, region.empty() ? "" : absl::StrCat("; the bucket is in AWS_REGION=", region)));
}

std::string FaultOfRemote(const std::string& text) {
  const Address address = Split(text);
  const auto fault = [&](const char* form) { return absl::StrCat("\"", text, "\" is not ", form); };
  const bool has_path = !address.host.empty() && !address.path.empty();
  if (address.scheme == "s3") return address.host.empty() ? fault("s3://BUCKET[/PREFIX]") : "";
  if (address.scheme == "gs") return address.host.empty() ? fault("gs://BUCKET[/PREFIX]") : "";
  if (address.scheme == "az") return has_path ? "" : fault("az://ACCOUNT/CONTAINER[/PREFIX]");
  if (address.scheme == "oci") return has_path ? "" : fault("oci://HOST/NAME");
  if (address.scheme == "http" && !address.host.empty() && !IsThisMachine(address.host)) {
    return absl::StrCat("\"", text, "\" is not encrypted; use https:// (http:// only for localhost)");
  }
  const bool web = address.scheme == "https" || address.scheme == "http";
  return web && !address.host.empty() ? "" : fault("an address s3://, gs://, az://, https:// or oci://");
}

absl::StatusOr<std::unique_ptr<RemoteStore>> OpenRemote(const std::string& address, const std::string& endpoint,
                                                        const Surroundings& surroundings) {
  if (const std::string fault = FaultOfRemote(address); !fault.empty()) return absl::InvalidArgumentError(fault);
  const Address parts = Split(address);
  const std::string service(absl::StripSuffix(endpoint, "/"));
  if (parts.scheme == "s3") return OpenS3(parts, service, surroundings);
  if (parts.scheme == "gs") return OpenGoogle(parts, service, surroundings);
  if (parts.scheme == "az") return OpenAzure(parts, service, surroundings);
  if (parts.scheme == "oci") return OpenOci(parts, service, surroundings);
  return OpenWebFolder(std::string(absl::StripSuffix(address, "/")), surroundings.ask);
}

}  // namespace vitrine
