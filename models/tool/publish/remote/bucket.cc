// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remote/bucket.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"

namespace vitrine {
namespace {

constexpr size_t kMostListingBytes = size_t{16} << 20;
constexpr int kAttempts = 3;

// Returns the texts of all elements with this name.
std::vector<std::string> Elements(absl::string_view xml, const std::string& name) {
  const std::string open = absl::StrCat("<", name, ">"), close = absl::StrCat("</", name, ">");
  std::vector<std::string> texts;
  for (size_t at = xml.find(open); at != absl::string_view::npos; at = xml.find(open, at)) {
    at += open.size();
    const size_t end = xml.find(close, at);
    if (end == absl::string_view::npos) break;
    texts.push_back(absl::StrReplaceAll(
        xml.substr(at, end - at),
        {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&#39;", "'"}, {"&amp;", "&"}}));
    at = end;
  }
  return texts;
}

// Returns the version whose manifest has this key.
std::optional<VersionId> VersionOfKey(absl::string_view key, const std::string& prefix) {
  if (!absl::StartsWith(key, prefix)) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(key.substr(prefix.size()), '/');
  if (parts.size() != 3 || parts[2] != kManifestFile || !IsPlainName(parts[0])) return std::nullopt;
  const std::optional<int64_t> version = ParseVersion(parts[1]);
  return version ? std::optional(VersionId{parts[0], *version}) : std::nullopt;
}

class Bucket : public RemoteStore {
 public:
  Bucket(BucketOptions options, Transport ask) : options_(std::move(options)), ask_(std::move(ask)) {}

  absl::StatusOr<std::vector<VersionId>> List() override {
    std::vector<VersionId> versions;
    std::string next;
    do {
      const std::string prefix = absl::StrCat("prefix=", UrlEncoded(options_.prefix));
      const std::string after = next.empty() ? "" : UrlEncoded(next);
      const std::string url =
          options_.azure ? absl::StrCat(options_.base, "?comp=list&", after.empty() ? "" : "marker=" + after + "&",
                                        prefix, "&restype=container")
                         : absl::StrCat(options_.base, "/?", after.empty() ? "" : "continuation-token=" + after + "&",
                                        "list-type=2&", prefix);
      ASSIGN_OR_RETURN(const FetchReply reply, Send({.url = url, .most_bytes = kMostListingBytes}));
      RETURN_IF_ERROR(ErrorOfReply(url, reply));
      if (!absl::StrContains(reply.body, options_.azure ? "<EnumerationResults" : "<ListBucketResult")) {
        return absl::FailedPreconditionError(absl::StrCat(url, " does not return the listing of a bucket"));
      }
      for (const std::string& key : Elements(reply.body, options_.azure ? "Name" : "Key")) {
        if (const auto id = VersionOfKey(key, options_.prefix)) versions.push_back(*id);
      }
      const auto more = Elements(reply.body, options_.azure ? "NextMarker" : "NextContinuationToken");
      if (!more.empty() && !next.empty() && more.front() == next) {
        return absl::FailedPreconditionError(absl::StrCat(url, " returns a listing without end"));
      }
      next = more.empty() ? "" : more.front();
    } while (!next.empty());
    return versions;
  }

  absl::StatusOr<std::string> ReadManifest(const VersionId& id) override {
    return Read(UrlOf(id, kManifestFile), kMaxManifestBytes);
  }

  Download DownloadOf(const VersionId& id, const v1::FileDigest& file, std::filesystem::path into) override {
    return {.url = UrlOf(id, file.name()),
            .file = std::move(into),
            .bytes = file.bytes(),
            .sha256 = file.sha256(),
            .ask = [this](const FetchRequest& request) { return Send(request); }};
  }

  absl::Status PutFile(const VersionId& id, const v1::FileDigest& file, const std::filesystem::path& from) override {
    const std::string url = UrlOf(id, file.name());
    const absl::Status put = Put({.url = url, .upload = from}, file.sha256());
    if (!absl::IsAlreadyExists(put)) return put;
    // The file is already in the bucket: an earlier push was interrupted after this file, or another push is running.
    Sha256Stream digest;
    ASSIGN_OR_RETURN(const FetchReply reply, Send({.url = url, .sink = [&](const FetchReply&, std::string_view bytes) {
                                                     digest.Update(bytes);
                                                     return absl::OkStatus();
                                                   }}));
    RETURN_IF_ERROR(ErrorOfReply(url, reply));
    if (digest.Hex() == file.sha256()) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat(url, " holds another file, which is not replaced; push another version, or remove the file"));
  }

  absl::Status PutManifest(const VersionId& id, const std::string& text) override {
    return Put({.url = UrlOf(id, kManifestFile), .body = text}, Sha256Hex(text));
  }

 private:
  std::string UrlOf(const VersionId& id, const std::string& name) const {
    return absl::StrCat(options_.base, "/", UrlEncoded(options_.prefix, "/"), UrlEncoded(id.model), "/", id.version,
                        "/", UrlEncoded(name));
  }

  absl::StatusOr<std::string> Read(const std::string& url, int64_t most_bytes) {
    ASSIGN_OR_RETURN(FetchReply reply, Send({.url = url, .most_bytes = static_cast<size_t>(most_bytes)}));
    RETURN_IF_ERROR(ErrorOfReply(url, reply));
    return std::move(reply.body);
  }

  absl::Status Put(FetchRequest request, const std::string& sha256) {
    request.method = "PUT";
    request.headers = options_.create_headers;
    ASSIGN_OR_RETURN(const FetchReply reply, Send(request, sha256));
    return ErrorOfReply(request.url, reply);
  }

  // Sends the request with credentials. Repeats it after status 429 or 5xx, and with new credentials after a refusal.
  // Errors name the URL without credentials.
  absl::StatusOr<FetchReply> Send(FetchRequest request, const std::string& sha256 = Sha256Hex("")) {
    // A redirect would send the credentials to another address, with a signature that is not valid there.
    request.follow = false;
    for (int attempt = 1;; ++attempt) {
      FetchRequest authorized = request;
      RETURN_IF_ERROR(options_.authorize(authorized, sha256));
      absl::StatusOr<FetchReply> reply = ask_(authorized);
      if (!reply.ok() && authorized.url != request.url) {
        return absl::Status(reply.status().code(),
                            absl::StrReplaceAll(reply.status().message(), {{authorized.url, request.url}}));
      }
      if (!reply.ok() || attempt == kAttempts) return reply;
      // S3 returns InvalidAccessKeyId for a key that was replaced in the file of credentials.
      const bool refused = reply->status == 401 || absl::StrContains(reply->body, "ExpiredToken") ||
                           absl::StrContains(reply->body, "InvalidAccessKeyId");
      if (refused) options_.forget();
      if (!refused && reply->status != 429 && reply->status < 500) return reply;
      if (!refused) absl::SleepFor(absl::Milliseconds(200) * attempt);
    }
  }

  const BucketOptions options_;
  const Transport ask_;
};

}  // namespace

std::unique_ptr<RemoteStore> OpenBucket(BucketOptions options, Transport ask) {
  return std::make_unique<Bucket>(std::move(options), std::move(ask));
}

}  // namespace vitrine
