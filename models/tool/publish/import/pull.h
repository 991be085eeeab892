// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_PULL_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_PULL_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/tool/publish/import/model_files.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

inline constexpr char kPullFrom[] = "https://huggingface.co";

// A download from a model hub with Hugging Face's protocol.
struct PullRequest {
  std::string model;  // "hf:ORG/NAME@REVISION"; default revision "main"
  // Digest of model.safetensors, or, for shards, of the output of `sha256sum *.safetensors`. Empty: trust the hub's
  // digest.
  std::string sha256 = {};
  std::string base = kPullFrom;      // base URL; with http://, only --sha256 makes the digest trustworthy
  std::filesystem::path cache = {};  // download folder
  // Called before the weights are downloaded, with the model's JSON files and the origin of the weights (including the
  // licence). An error of `accept` ends the pull.
  std::function<absl::Status(const std::vector<ModelFile>&, const v1::Origin&)> accept = {};
};

// Returns the hub's address: $VITRINE_PULL_FROM, otherwise $HF_ENDPOINT, otherwise kPullFrom.
std::string DefaultPullFrom();

// Returns the header with $HF_TOKEN if `base` is an https:// address or this machine, without user information ("@").
// Otherwise returns no header, because other hubs must not get the token.
std::map<std::string, std::string> LoginTo(const std::string& base);

struct Pulled {
  std::vector<std::filesystem::path> weights = {};  // one file, or the shards
  v1::Origin origin = {};
};

// Returns "" for "hf:ORG/NAME" with or without "@REVISION"; otherwise the error.
std::string FaultOfPull(const std::string& model);
// Return "" if the text is a valid hub address, or a SHA-256 in hexadecimal digits. Otherwise they return the error.
std::string FaultOfUrl(const std::string& text);
std::string FaultOfDigest(const std::string& text);

// Returns the folder pull/ in CacheFolder(), or in /tmp/vitrine if there is no CacheFolder().
std::filesystem::path PullCache();

// Requests the revision's commit, its config.json, preprocessor_config.json, model card and model.safetensors; if
// model.safetensors is missing, requests the shards that the model's index names. Shows a progress bar on stderr and
// resumes earlier downloads. The message of an error says what to do. UNAVAILABLE: no network, or HF_HUB_OFFLINE=1;
// NOT_FOUND: no such model, revision or file; PERMISSION_DENIED: login required; DATA_LOSS: digest mismatch;
// FAILED_PRECONDITION: neither hub nor `sha256` states a digest. Returns errors of `accept`.
absl::StatusOr<Pulled> Pull(const PullRequest& request);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_PULL_H_
