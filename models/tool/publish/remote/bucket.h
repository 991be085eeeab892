// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_BUCKET_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_BUCKET_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "models/tool/publish/remote/store.h"

namespace vitrine {

// A bucket, and how requests to it are authorized.
struct BucketOptions {
  std::string base = {};    // URL of the bucket, without a slash at its end
  std::string prefix = {};  // prefix of every key: empty, or ends with a slash; not encoded
  // Adds credentials to a request. `payload_sha256` is the digest of the request's body.
  std::function<absl::Status(FetchRequest& request, const std::string& payload_sha256)> authorize = nullptr;
  std::function<void()> forget = [] {};  // makes `authorize` fetch new credentials
  // Headers of a PUT that must not replace an object.
  std::map<std::string, std::string> create_headers = {{"If-None-Match", "*"}};
  bool azure = false;  // true: lists by Azure's protocol; false: by S3's ListObjectsV2
};

// Returns the repository in a bucket. The key of a file is <prefix><model>/<version>/<file>. Each PUT has
// create_headers, so that it replaces no object.
std::unique_ptr<RemoteStore> OpenBucket(BucketOptions options, Transport ask);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_BUCKET_H_
