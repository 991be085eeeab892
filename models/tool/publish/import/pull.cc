// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/pull.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/charts/progress_display.h"
#include "common/file/cache_folder.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/foreign/import.h"
#include "models/repository/manifest.h"
#include "models/tool/publish/import/download.h"
#include "models/tool/publish/import/https.h"
#include "models/tool/publish/import/stated_licence.h"

namespace vitrine {
namespace {

constexpr char kByHand[] =
    "; or download config.json and model.safetensors yourself into a folder, and give the folder";
constexpr char kAgain[] = "; run the same command again to continue, or name a mirror with HF_ENDPOINT";
constexpr int kSilentSeconds = 10;  // FetchRequest::silent_seconds for headers and small files

struct ModelOnHub {
  std::string name;      // "ORG/NAME"
  std::string revision;  // a branch, a tag or a commit
};

bool IsHubWord(std::string_view text, bool slashes) {
  return !text.empty() && text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || (slashes && c == '/');
         });
}

std::optional<ModelOnHub> ParseModel(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "hf:")) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('@', 1));
  const std::vector<std::string> words = absl::StrSplit(parts[0], '/');
  const ModelOnHub model{parts[0], parts.size() > 1 ? parts[1] : "main"};
  const bool fits = words.size() == 2 && IsHubWord(words[0], false) && IsHubWord(words[1], false);
  return fits && IsHubWord(model.revision, true) ? std::optional(model) : std::nullopt;
}

bool IsHexOf(absl::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

// Returns true if $HF_HUB_OFFLINE is on, as huggingface_hub reads it.
bool IsOffline() {
  const char* const offline = std::getenv("HF_HUB_OFFLINE");
  const std::string value = absl::AsciiStrToLower(offline == nullptr ? "" : offline);
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

// Downloads from one model on a hub. `base` has no trailing slash.
class Hub {
 public:
  Hub(std::string base, ModelOnHub model) : base_(std::move(base)), model_(std::move(model)), login_(LoginTo(base_)) {}

  // Returns the headers with the login; empty if there is no login.
  const std::map<std::string, std::string>& login() const { return login_; }

  // Requests the headers of a file, to find the commit of the revision. Does not follow redirects to the storage.
  // Returns nullopt if the model lacks the file.
  absl::StatusOr<std::optional<FetchReply>> Head(const std::string& name) {
    std::string url = UrlOf(name);
    constexpr int kMostMoves = 5;
    for (int move = 0; move < kMostMoves; ++move) {
      ASSIGN_OR_RETURN(FetchReply reply, Reach({.url = url, .head = true, .headers = login_, .follow = false}));
      const std::string to = reply.Header("location");
      // For a renamed model, the hub redirects to the same host; any other redirect leads to the storage.
      if (reply.status >= 300 && reply.status < 400 && absl::StartsWith(to, "/")) {
        url = absl::StrCat(base_, to);
        continue;
      }
      if (const std::string commit = reply.Header("x-repo-commit"); IsHexOf(commit, 40)) model_.revision = commit;
      if (reply.Header("x-error-code") == "EntryNotFound") return std::nullopt;
      if (reply.status >= 400) return Refused(reply);
      return std::optional(std::move(reply));
    }
    return absl::UnavailableError(absl::StrCat(url, ": too many redirects"));
  }

  // Downloads a small file. Returns nullopt if the model lacks it.
  absl::StatusOr<std::optional<std::string>> Text(const std::string& name) const {
    constexpr size_t kMostBytes = size_t{4} << 20;
    ASSIGN_OR_RETURN(FetchReply reply, Reach({.url = UrlOf(name), .headers = login_, .most_bytes = kMostBytes}));
    if (reply.status == 404 && reply.Header("x-error-code") != "RevisionNotFound") return std::nullopt;
    if (reply.status != 200) return Refused(reply);
    return std::optional(std::move(reply.body));
  }

  absl::Status Lacks(const std::string& name) const {
    return absl::NotFoundError(absl::StrCat("hf:", model_.name, "@", model_.revision, " has no ", name,
                                            "; save weights in other formats as safetensors first"));
  }

  std::string UrlOf(const std::string& name) const {
    const std::string revision = absl::StrReplaceAll(model_.revision, {{"/", "%2F"}});
    return absl::StrCat(base_, "/", model_.name, "/resolve/", revision, "/", name);
  }

 private:
  static absl::StatusOr<FetchReply> Reach(FetchRequest request) {
    request.silent_seconds = kSilentSeconds;
    absl::StatusOr<FetchReply> reply = Ask(request);
    if (!absl::IsUnavailable(reply.status())) return reply;
    return absl::UnavailableError(absl::StrCat(reply.status().message(), kAgain, kByHand));
  }

  absl::Status Refused(const FetchReply& reply) const {
    const std::string what = absl::StrCat("hf:", model_.name, "@", model_.revision);
    const std::string code = reply.Header("x-error-code");
    if (code == "RevisionNotFound") {
      return absl::NotFoundError(absl::StrCat(what,
                                              ": the model has no such revision; its page lists branches, tags and "
                                              "commits; the default is \"main\""));
    }
    if (code == "GatedRepo" || reply.status == 403) {
      const char* fault = " may not be read with the token in HF_TOKEN; accept its terms on its page";
      if (login_.empty()) {
        const char* const token = std::getenv("HF_TOKEN");
        fault =
            token != nullptr && *token != '\0'
                ? " requires a login, but HF_TOKEN is sent only to an https:// address without \"@\"; name such a hub"
                : " requires a login; set HF_TOKEN to a token of an account that may read it";
      }
      return absl::PermissionDeniedError(absl::StrCat(what, fault, kByHand));
    }
    if (reply.status == 401 || reply.status == 404) {
      return absl::NotFoundError(absl::StrCat(what,
                                              ": the model does not exist or is not public; spell it as on "
                                              "its page"));
    }
    return absl::UnavailableError(
        absl::StrCat(base_, " returned for ", what, " status ", reply.status, kAgain, kByHand));
  }

  const std::string base_;
  ModelOnHub model_;
  const std::map<std::string, std::string> login_;
};

// Returns the digest in the ETag, which has the form "\"<digest>\"". The ETag is a SHA-256 only for files in large file
// storage; for other files, returns "".
std::string DigestIn(const FetchReply& head) {
  for (const char* name : {"x-linked-etag", "etag"}) {
    absl::string_view tag = head.headers.contains(name) ? head.headers.at(name) : absl::string_view();
    absl::ConsumePrefix(&tag, "W/");
    absl::ConsumePrefix(&tag, "\"");
    absl::ConsumeSuffix(&tag, "\"");
    if (IsHexOf(tag, 64)) return absl::AsciiStrToLower(tag);
  }
  return "";
}

// Plans the download of a file. `wanted` is the user's digest; may be empty.
absl::StatusOr<Download> PlanDownload(const FetchReply& head, const std::string& url, const std::string& wanted,
                                      const PullRequest& request) {
  const std::string told = DigestIn(head);
  if (!wanted.empty() && !told.empty() && wanted != told) {
    return absl::DataLossError(absl::StrCat(request.model, " has SHA-256 ", told, " on the server, but --sha256 says ",
                                            wanted, "; nothing was downloaded. Check the revision"));
  }
  if (wanted.empty() && told.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(request.base, " does not state the SHA-256 of ", url.substr(url.rfind('/') + 1),
                     ", as if a proxy or the network's login page answered; give it with --sha256", kByHand));
  }
  Download download{.url = url, .sha256 = wanted.empty() ? told : wanted};
  download.file = request.cache / absl::StrCat(download.sha256, ".safetensors");
  const std::string linked = head.Header("x-linked-size");
  if (!absl::SimpleAtoi(linked.empty() && head.status == 200 ? head.Header("content-length") : linked,
                        &download.bytes)) {
    download.bytes = -1;
  }
  download.most_bytes = kMaxFileBytes;
  return download;
}

// Downloads of a model's weights: one file, or one per shard.
struct Weights {
  std::vector<Download> files;
  v1::Origin origin;
};

absl::StatusOr<Weights> PlanShards(Hub& hub, const PullRequest& request) {
  ASSIGN_OR_RETURN(const std::optional<std::string> index, hub.Text(kForeignIndexFile));
  if (!index.has_value()) return hub.Lacks(absl::StrCat(kForeignWeightsFile, " and no ", kForeignIndexFile));
  const absl::StatusOr<std::vector<std::string>> names = ShardsOfIndex(*index);
  if (!names.ok()) {
    return absl::DataLossError(
        absl::StrCat(request.model, ": its ", kForeignIndexFile, " is ", names.status().message()));
  }
  Weights weights;
  std::string digests;  // lines as printed by sha256sum
  for (const std::string& name : *names) {
    ASSIGN_OR_RETURN(const std::optional<FetchReply> head, hub.Head(name));
    if (!head.has_value()) return hub.Lacks(absl::StrCat(name, ", which its ", kForeignIndexFile, " names"));
    ASSIGN_OR_RETURN(Download download, PlanDownload(*head, hub.UrlOf(name), /*wanted=*/"", request));
    absl::StrAppend(&digests, download.sha256, "  ", name, "\n");
    weights.files.push_back(std::move(download));
  }
  weights.origin.set_url(hub.UrlOf(kForeignIndexFile));
  weights.origin.set_sha256(Sha256Hex(digests));
  const std::string wanted = absl::AsciiStrToLower(request.sha256);
  if (wanted.empty() || wanted == weights.origin.sha256()) return weights;
  return absl::DataLossError(absl::StrCat("the list of SHA-256s of the shards of ", request.model,
                                          " (as sha256sum prints it) has SHA-256 ", weights.origin.sha256(),
                                          ", but --sha256 says ", wanted, "; nothing was downloaded"));
}

absl::StatusOr<Weights> PlanWeights(Hub& hub, const PullRequest& request) {
  Weights weights;
  ASSIGN_OR_RETURN(const std::optional<FetchReply> head, hub.Head(kForeignWeightsFile));
  if (head.has_value()) {
    ASSIGN_OR_RETURN(Download download, PlanDownload(*head, hub.UrlOf(kForeignWeightsFile),
                                                     absl::AsciiStrToLower(request.sha256), request));
    weights.origin.set_url(download.url);
    weights.origin.set_sha256(download.sha256);
    weights.files.push_back(std::move(download));
  } else {
    ASSIGN_OR_RETURN(weights, PlanShards(hub, request));
  }
  int64_t bytes = 0;
  for (const Download& file : weights.files) bytes += std::max<int64_t>(file.bytes, 0);
  if (bytes <= kMaxFileBytes) return weights;
  return absl::FailedPreconditionError(
      absl::StrCat(request.model, " has ", bytes, " bytes; the maximum is ", kMaxFileBytes));
}

}  // namespace

std::string FaultOfPull(const std::string& model) {
  if (ParseModel(model).has_value()) return "";
  return absl::StrCat("\"", absl::CHexEscape(model),
                      "\" is not a model, as in hf:timm/vit_tiny_patch16_224.augreg_in21k_ft_in1k@main");
}

std::string FaultOfUrl(const std::string& text) {
  const bool is_url = text.starts_with("https://") || text.starts_with("http://");
  return is_url ? "" : absl::StrCat("\"", text, "\" is not a URL, as in --pull-from https://mirror.example");
}

std::string FaultOfDigest(const std::string& text) {
  const bool is_digest = text.size() == 64 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  return is_digest ? "" : absl::StrCat("\"", text, "\" is not a SHA-256 of 64 hexadecimal digits");
}

std::string DefaultPullFrom() {
  for (const char* name : {"VITRINE_PULL_FROM", "HF_ENDPOINT"}) {
    const char* const from = std::getenv(name);
    if (from != nullptr && *from != '\0') return from;
  }
  return kPullFrom;
}

std::map<std::string, std::string> LoginTo(const std::string& base) {
  const char* const token = std::getenv("HF_TOKEN");
  bool is_safe = absl::StartsWith(base, "https://");
  for (const char* own : {"http://127.0.0.1", "http://[::1]", "http://localhost"}) {
    is_safe |= base == own || absl::StartsWith(base, absl::StrCat(own, ":"));
  }
  if (token == nullptr || *token == '\0' || !is_safe || absl::StrContains(base, '@')) return {};
  return {{"Authorization", absl::StrCat("Bearer ", token)}};
}

std::filesystem::path PullCache() {
  const std::filesystem::path folder = CacheFolder();
  return (folder.empty() ? "/tmp/vitrine" : folder) / "pull";
}

absl::StatusOr<Pulled> Pull(const PullRequest& request) {
  const std::optional<ModelOnHub> model = ParseModel(request.model);
  if (!model.has_value()) return absl::InvalidArgumentError(FaultOfPull(request.model));
  if (IsOffline()) return absl::UnavailableError("HF_HUB_OFFLINE is set");
  Hub hub(std::string(absl::StripSuffix(request.base, "/")), *model);
  ASSIGN_OR_RETURN(Weights weights, PlanWeights(hub, request));
  Pulled pulled{.origin = std::move(weights.origin)};
  std::vector<ModelFile> files;
  for (const char* name : {kConfigFile, kPreprocessorFile}) {
    ASSIGN_OR_RETURN(std::optional<std::string> json, hub.Text(name));
    if (json.has_value()) files.push_back({absl::StrCat(name, " of ", request.model), *std::move(json)});
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> card, hub.Text("README.md"));
  if (card.has_value()) pulled.origin.set_licence(LicenceOfCard(*card));
  RETURN_IF_ERROR(request.accept(files, pulled.origin));
  for (Download& file : weights.files) {
    file.ask = [&hub](const FetchRequest& request) {
      FetchRequest with_login = request;
      with_login.headers = hub.login();
      return Ask(with_login);
    };
    ProgressDisplay display(std::cerr, {.is_terminal = isatty(STDERR_FILENO) != 0, .plain_lines = absl::Seconds(10)});
    RETURN_IF_ERROR(Fetch(file, display));
    pulled.weights.push_back(file.file);
  }
  return pulled;
}

}  // namespace vitrine
