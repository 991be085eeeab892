// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/remote/web_folder.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"
#include "models/repository/names.h"

namespace vitrine {
namespace {

constexpr size_t kMostIndexBytes = size_t{16} << 20;

class WebFolder : public RemoteStore {
 public:
  WebFolder(std::string url, Transport ask) : url_(std::move(url)), ask_(std::move(ask)) {}

  absl::StatusOr<std::vector<VersionId>> List() override {
    const std::string url = absl::StrCat(url_, "/", kIndexFile);
    const absl::StatusOr<std::string> text = Read(url, kMostIndexBytes);
    if (absl::IsNotFound(text.status())) return WrongIndex(absl::StrCat("there is no ", url));
    RETURN_IF_ERROR(text.status());
    const auto index = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!index.is_array()) return WrongIndex(absl::StrCat(url, " is not a list of versions"));
    std::vector<VersionId> versions;
    for (const auto& entry : index) {
      if (!entry.is_object()) return WrongIndex(absl::StrCat(url, " is not a list of versions"));
      const auto model = entry.find("model"), version = entry.find("version");
      if (model == entry.end() || !model->is_string() || !IsPlainName(model->get<std::string>()) ||
          version == entry.end() || !version->is_number_integer() || version->get<int64_t>() < 1) {
        return WrongIndex(absl::StrCat(url, " is not a list of versions"));
      }
      versions.push_back({model->get<std::string>(), version->get<int64_t>()});
    }
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
            .ask = ask_};
  }

  absl::Status PutFile(const VersionId&, const v1::FileDigest&, const std::filesystem::path&) override {
    return ReadOnly();
  }
  absl::Status PutManifest(const VersionId&, const std::string&) override { return ReadOnly(); }

 private:
  static absl::Status WrongIndex(const std::string& fault) {
    return absl::FailedPreconditionError(
        absl::StrCat(fault, "; write it with: vitrine-repo list DIR --format json > DIR/", kIndexFile));
  }

  absl::Status ReadOnly() const {
    return absl::InvalidArgumentError(absl::StrCat(
        url_, " is a web server, which is only read; use vitrine-repo publish on its folder, then write ", kIndexFile));
  }

  std::string UrlOf(const VersionId& id, const std::string& name) const {
    return absl::StrCat(url_, "/", UrlEncoded(id.model), "/", id.version, "/", UrlEncoded(name));
  }

  absl::StatusOr<std::string> Read(const std::string& url, size_t most_bytes) {
    ASSIGN_OR_RETURN(FetchReply reply, ask_({.url = url, .most_bytes = most_bytes}));
    RETURN_IF_ERROR(ErrorOfReply(url, reply));
    return std::move(reply.body);
  }

  const std::string url_;
  const Transport ask_;
};

}  // namespace

std::unique_ptr<RemoteStore> OpenWebFolder(std::string url, Transport ask) {
  return std::make_unique<WebFolder>(std::move(url), std::move(ask));
}

}  // namespace vitrine
