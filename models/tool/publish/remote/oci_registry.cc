// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remote/oci_registry.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"
#include "models/tool/publish/import/json_members.h"
#include "models/tool/publish/remote/bearer_token.h"

namespace vitrine {
namespace {

constexpr char kManifestType[] = "application/vnd.oci.image.manifest.v1+json";
constexpr char kTitle[] = "org.opencontainers.image.title";
constexpr char kNoConfig[] = "{}";

std::string TagOf(const VersionId& id) {
  return absl::StrCat(id.model, "-", id.version);
}

std::optional<VersionId> VersionOfTag(const std::string& tag) {
  const size_t dash = tag.rfind('-');
  if (dash == std::string::npos || !IsPlainName(tag.substr(0, dash))) return std::nullopt;
  const std::optional<int64_t> version = ParseVersion(tag.substr(dash + 1));
  return version ? std::optional(VersionId{tag.substr(0, dash), *version}) : std::nullopt;
}

nlohmann::json Layer(const std::string& name, const std::string& sha256, int64_t bytes) {
  return {{"mediaType", "application/octet-stream"},
          {"digest", "sha256:" + sha256},
          {"size", bytes},
          {"annotations", {{kTitle, name}}}};
}

// Returns a parameter of a challenge such as: Bearer realm="https://auth.example/token",service="registry".
std::string ParameterOf(const std::string& challenge, const std::string& name) {
  const std::string begin = absl::StrCat(name, "=\"");
  const size_t at = challenge.find(begin);
  if (at == std::string::npos) return "";
  const size_t value = at + begin.size();
  return challenge.substr(value, challenge.find('"', value) - value);
}

class OciRegistry : public RemoteStore {
 public:
  OciRegistry(std::string base, std::string host, const std::string& name, Surroundings surroundings)
      : base_(std::move(base)),
        host_(std::move(host)),
        root_(absl::StrCat(base_, "/v2/", name)),
        surroundings_(std::move(surroundings)) {}

  absl::StatusOr<std::vector<VersionId>> List() override {
    std::vector<VersionId> versions;
    for (std::string url = root_ + "/tags/list?n=1000"; !url.empty();) {
      ASSIGN_OR_RETURN(const FetchReply reply, Succeed({.url = url, .most_bytes = size_t{16} << 20}));
      const auto json = nlohmann::json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object()) return absl::FailedPreconditionError(url + " does not return a list of tags");
      const auto tags = json.value("tags", nlohmann::json());
      for (const auto& tag : tags) {
        const auto id = tag.is_string() ? VersionOfTag(tag.get<std::string>()) : std::nullopt;
        if (id) versions.push_back(*id);
      }
      // Link: </v2/NAME/tags/list?n=1000&last=TAG>; rel="next"
      const std::string link = reply.Header("link");
      const size_t end = link.find('>');
      const std::string next = link.empty() || end == std::string::npos ? "" : Resolved(link.substr(1, end - 1));
      if (next == url) return absl::FailedPreconditionError(url + " returns a list of tags without end");
      url = next;
    }
    return versions;
  }

  absl::StatusOr<std::string> ReadManifest(const VersionId& id) override {
    const std::string url = absl::StrCat(root_, "/manifests/", TagOf(id));
    ASSIGN_OR_RETURN(const FetchReply artifact, Succeed({.url = url, .headers = {{"Accept", kManifestType}}}));
    const auto json = nlohmann::json::parse(artifact.body, nullptr, /*allow_exceptions=*/false);
    for (const auto& layer : json.is_object() ? json.value("layers", nlohmann::json()) : nlohmann::json()) {
      if (!layer.is_object()) continue;
      const auto annotations = layer.value("annotations", nlohmann::json::object());
      if (!annotations.is_object() || TextIn(annotations, kTitle) != kManifestFile) continue;
      const std::string digest = TextIn(layer, "digest");
      const std::string blob = absl::StrCat(root_, "/blobs/", UrlEncoded(digest, ":"));
      ASSIGN_OR_RETURN(FetchReply reply, Succeed({.url = blob, .most_bytes = kMaxManifestBytes}));
      if ("sha256:" + Sha256Hex(reply.body) == digest) return std::move(reply.body);
      return absl::DataLossError(absl::StrCat(blob, " has other bytes than its digest says"));
    }
    return absl::NotFoundError(absl::StrCat(url, " is no version of a model: it has no ", kManifestFile));
  }

  Download DownloadOf(const VersionId&, const v1::FileDigest& file, std::filesystem::path into) override {
    return {.url = absl::StrCat(root_, "/blobs/sha256:", file.sha256()),
            .file = std::move(into),
            .bytes = file.bytes(),
            .sha256 = file.sha256(),
            .ask = [this](const FetchRequest& request) { return Send(request); }};
  }

  absl::Status PutFile(const VersionId&, const v1::FileDigest& file, const std::filesystem::path& from) override {
    return PutBlob(file.sha256(), {.url = {}, .upload = from});
  }

  absl::Status PutManifest(const VersionId& id, const std::string& text) override {
    ASSIGN_OR_RETURN(const v1::Manifest manifest, ParseManifest(text));
    RETURN_IF_ERROR(PutBlob(Sha256Hex(text), {.url = {}, .body = text}));
    RETURN_IF_ERROR(PutBlob(Sha256Hex(kNoConfig), {.url = {}, .body = kNoConfig}));
    nlohmann::json layers = {Layer(kManifestFile, Sha256Hex(text), static_cast<int64_t>(text.size()))};
    for (const v1::FileDigest& file : manifest.files())
      layers.push_back(Layer(file.name(), file.sha256(), file.bytes()));
    const nlohmann::json artifact = {{"schemaVersion", 2},
                                     {"mediaType", kManifestType},
                                     {"artifactType", "application/vnd.vitrine.version.v1"},
                                     {"config",
                                      {{"mediaType", "application/vnd.oci.empty.v1+json"},
                                       {"digest", "sha256:" + Sha256Hex(kNoConfig)},
                                       {"size", sizeof(kNoConfig) - 1}}},
                                     {"layers", layers}};
    const std::string url = absl::StrCat(root_, "/manifests/", TagOf(id));
    ASSIGN_OR_RETURN(const FetchReply there, Send({.url = url, .head = true, .headers = {{"Accept", kManifestType}}}));
    if (there.status == 200) return absl::AlreadyExistsError(absl::StrCat(url, " exists"));
    return Succeed({.url = url, .method = "PUT", .headers = {{"Content-Type", kManifestType}}, .body = artifact.dump()})
        .status();
  }

 private:
  std::string Resolved(const std::string& location) const {
    return absl::StartsWith(location, "/") ? base_ + location : location;
  }

  // Stores the body of `content` under its digest, if the registry lacks it.
  absl::Status PutBlob(const std::string& sha256, FetchRequest content) {
    ASSIGN_OR_RETURN(const FetchReply there,
                     Send({.url = absl::StrCat(root_, "/blobs/sha256:", sha256), .head = true}));
    if (there.status == 200) return absl::OkStatus();
    ASSIGN_OR_RETURN(const FetchReply upload, Succeed({.url = root_ + "/blobs/uploads/", .method = "POST"}));
    const std::string location = Resolved(upload.Header("location"));
    content.url = absl::StrCat(location, absl::StrContains(location, '?') ? "&" : "?", "digest=sha256:", sha256);
    content.method = "PUT";
    content.headers = {{"Content-Type", "application/octet-stream"}};
    return Succeed(content).status();
  }

  absl::StatusOr<FetchReply> Succeed(const FetchRequest& request) {
    ASSIGN_OR_RETURN(FetchReply reply, Send(request));
    RETURN_IF_ERROR(ErrorOfReply(request.url, reply));
    return reply;
  }

  // Sends the request. Repeats it with new credentials if the registry requires them or the token has expired.
  absl::StatusOr<FetchReply> Send(FetchRequest request) {
    request.follow = request.method.empty();  // blobs may be on another host; libcurl sends it no Authorization
    if (!authorization_.empty()) request.headers["Authorization"] = authorization_;
    absl::StatusOr<FetchReply> reply = surroundings_.ask(request);
    if (!reply.ok() || reply->status != 401) return reply;
    ASSIGN_OR_RETURN(authorization_, Answer(reply->Header("www-authenticate")));
    if (authorization_.empty()) return reply;
    request.headers["Authorization"] = authorization_;
    return surroundings_.ask(request);
  }

  // Returns the Authorization header for a challenge; empty if a login is required but missing.
  absl::StatusOr<std::string> Answer(const std::string& challenge) const {
    const std::string login = Login();
    const std::string realm = ParameterOf(challenge, "realm");
    if (!absl::StartsWithIgnoreCase(challenge, "bearer ") || realm.empty()) {
      return login.empty() ? "" : absl::StrCat("Basic ", login);
    }
    FetchRequest request = {.url = absl::StrCat(realm, absl::StrContains(realm, '?') ? "&" : "?",
                                                "service=", UrlEncoded(ParameterOf(challenge, "service")),
                                                "&scope=", UrlEncoded(ParameterOf(challenge, "scope"), ":/,")),
                            .follow = false};
    if (!login.empty()) request.headers["Authorization"] = absl::StrCat("Basic ", login);
    ASSIGN_OR_RETURN(const FetchReply reply, surroundings_.ask(request));
    RETURN_IF_ERROR(ErrorOfReply(request.url, reply));
    const std::string token = JsonField(reply.body, "token");
    return absl::StrCat("Bearer ", token.empty() ? JsonField(reply.body, "access_token") : token);
  }

  // Returns base64 of "user:password" from Docker's configuration.
  std::string Login() const {
    const std::string folder = surroundings_.variable("DOCKER_CONFIG");
    const auto text = ReadSecretFile(
        absl::StrCat(folder.empty() ? surroundings_.variable("HOME") + "/.docker" : folder, "/config.json"));
    const auto json = nlohmann::json::parse(text.ok() ? *text : "", nullptr, /*allow_exceptions=*/false);
    const auto auths = json.is_object() ? json.value("auths", nlohmann::json::object()) : nlohmann::json::object();
    const auto found = auths.find(host_);
    return found == auths.end() || !found->is_object() ? "" : TextIn(*found, "auth");
  }

  const std::string base_, host_, root_;
  const Surroundings surroundings_;
  std::string authorization_;
};

}  // namespace

std::unique_ptr<RemoteStore> OpenOciRegistry(std::string base, std::string host, const std::string& name,
                                             Surroundings surroundings) {
  return std::make_unique<OciRegistry>(std::move(base), std::move(host), name, std::move(surroundings));
}

}  // namespace vitrine
