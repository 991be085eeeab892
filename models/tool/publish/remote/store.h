// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_REMOTE_STORE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_REMOTE_STORE_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/repository/repository.h"
#include "models/tool/publish/import/download.h"
#include "models/tool/publish/remote/surroundings.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// A repository in a bucket, an OCI registry or behind a web server. A version's manifest is stored after its other
// files, and the version exists once its manifest exists. Not thread-safe.
//
// Errors of the functions: UNAVAILABLE: the service is unreachable or overloaded; PERMISSION_DENIED; NOT_FOUND;
// FAILED_PRECONDITION: no credentials, or an invalid reply. Messages name the URL.
class RemoteStore {
 public:
  virtual ~RemoteStore() = default;

  // Lists the versions that have a manifest, in any order.
  virtual absl::StatusOr<std::vector<VersionId>> List() = 0;
  // Returns the text of a version's manifest.
  virtual absl::StatusOr<std::string> ReadManifest(const VersionId& id) = 0;
  // Describes the download of a listed file to `into`. The store must outlive the result.
  virtual Download DownloadOf(const VersionId& id, const v1::FileDigest& file, std::filesystem::path into) = 0;

  // Stores a file of a version that has no manifest yet. Succeeds if the same bytes are there already; ALREADY_EXISTS
  // if other bytes are there.
  virtual absl::Status PutFile(const VersionId& id, const v1::FileDigest& file, const std::filesystem::path& from) = 0;
  // Stores the manifest, which makes the version exist. ALREADY_EXISTS if there is one.
  virtual absl::Status PutManifest(const VersionId& id, const std::string& text) = 0;
};

// Returns "" for an address of a remote repository (s3://, gs://, az://, https://, oci://); otherwise the error.
std::string FaultOfRemote(const std::string& text);

// Opens the repository at `address` without a request. `endpoint` is the URL of a service with the same protocol, such
// as MinIO; empty: the provider's URL. INVALID_ARGUMENT: see FaultOfRemote.
absl::StatusOr<std::unique_ptr<RemoteStore>> OpenRemote(const std::string& address, const std::string& endpoint,
                                                        const Surroundings& surroundings);

// Returns OK for a 2xx reply; otherwise the error, with the service's own message.
absl::Status ErrorOfReply(const std::string& url, const FetchReply& reply);

// Percent-encodes all bytes except A-Z a-z 0-9 - _ . ~ and the bytes in `kept`.
std::string UrlEncoded(absl::string_view text, absl::string_view kept = "");

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_REMOTE_STORE_H_
