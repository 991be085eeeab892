// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_AWS_SIGN_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_AWS_SIGN_H_

#include <string>

#include "absl/time/time.h"
#include "models/tool/publish/import/https.h"

namespace vitrine {

struct AwsCredentials {
  std::string key = {};
  std::string secret = {};
  std::string token = {};  // session token; empty for long-lived keys
  absl::Time expires = absl::InfiniteFuture();
};

// Adds the headers of AWS's Signature Version 4. Path and query of the URL must be percent-encoded already.
// `payload_sha256` is the hexadecimal digest of the body. libcurl's own CURLOPT_AWS_SIGV4 is not used, because Debian
// 12's release 7.88 signs a query in the order of its parameters, but AWS requires sorted parameters.
void SignForAws(FetchRequest& request, const AwsCredentials& credentials, const std::string& region,
                const std::string& service, const std::string& payload_sha256, absl::Time now);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_AWS_SIGN_H_
