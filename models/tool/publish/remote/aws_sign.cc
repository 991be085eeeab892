// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remote/aws_sign.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/sha256.h"

namespace vitrine {
namespace {

std::string Hmac(const std::string& key, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int bytes = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), digest.data(), &bytes);
  return {digest.begin(), digest.begin() + bytes};
}

// Returns the parameters in sorted order. Adds "=" to parameters without a value.
std::string CanonicalQuery(absl::string_view query) {
  std::vector<std::string> parameters = absl::StrSplit(query, '&', absl::SkipEmpty());
  for (std::string& parameter : parameters) {
    if (!absl::StrContains(parameter, '=')) parameter += '=';
  }
  std::sort(parameters.begin(), parameters.end());
  return absl::StrJoin(parameters, "&");
}

}  // namespace

void SignForAws(FetchRequest& request, const AwsCredentials& credentials, const std::string& region,
                const std::string& service, const std::string& payload_sha256, absl::Time now) {
  const absl::string_view rest = absl::string_view(request.url).substr(request.url.find("://") + 3);
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('?', 1));
  const size_t slash = std::min(parts.first.find('/'), parts.first.size());
  const std::string path(slash < parts.first.size() ? parts.first.substr(slash) : "/");
  const std::string time = absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone());
  const std::string day = time.substr(0, 8);

  std::map<std::string, std::string> signed_headers = {{"host", std::string(parts.first.substr(0, slash))},
                                                       {"x-amz-content-sha256", payload_sha256},
                                                       {"x-amz-date", time}};
  if (!credentials.token.empty()) signed_headers["x-amz-security-token"] = credentials.token;
  std::string canonical_headers;
  std::vector<std::string> names;
  for (const auto& [name, value] : signed_headers) {
    absl::StrAppend(&canonical_headers, name, ":", value, "\n");
    names.push_back(name);
    if (name != "host") request.headers[name] = value;
  }
  const std::string list = absl::StrJoin(names, ";");
  const std::string method = !request.method.empty() ? request.method : request.head ? "HEAD" : "GET";
  const std::string canonical =
      absl::StrJoin({method, path, CanonicalQuery(parts.second), canonical_headers, list, payload_sha256}, "\n");
  const std::string scope = absl::StrJoin({day, region, service, std::string("aws4_request")}, "/");
  const std::string text = absl::StrCat("AWS4-HMAC-SHA256\n", time, "\n", scope, "\n", Sha256Hex(canonical));
  std::string key = absl::StrCat("AWS4", credentials.secret);
  for (const std::string& part : {day, region, service, std::string("aws4_request")}) key = Hmac(key, part);
  request.headers["Authorization"] =
      absl::StrCat("AWS4-HMAC-SHA256 Credential=", credentials.key, "/", scope, ", SignedHeaders=", list,
                   ", Signature=", absl::BytesToHexString(Hmac(key, text)));
}

}  // namespace vitrine
