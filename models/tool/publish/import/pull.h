// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_PULL_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_PULL_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

inline constexpr char kPullFrom[] = "https://huggingface.co";

// A download from a model hub with Hugging Face's protocol.
struct PullRequest {
  std::string model;  // "hf:ORG/NAME@REVISION"; default revision "main"
  std::string arch;   // the weights' source's name of the model
  // Digest of model.safetensors; for shards, of the output of `sha256sum *.safetensors`. Empty: trust the hub's digest.
  std::string sha256 = {};
  std::string base = kPullFrom;      // base URL; over http:// only --sha256 secures the digest
  std::filesystem::path cache = {};  // download folder
};

// Downloaded files, and the preprocessing from the hub's config.json if it has one.
struct Pulled {
  std::vector<std::filesystem::path> weights = {};  // one file, or the shards
  v1::Origin origin = {};
  std::string config = {};  // content of config.json; empty if missing
  std::vector<float> mean = {}, std = {};
  std::optional<double> crop = {};
  std::string interpolation = {};  // "bilinear" or "bicubic"
};

// Returns "" for "hf:ORG/NAME" with or without "@REVISION"; else the error.
std::string FaultOfPull(const std::string& model);
// Return the same for a hub's address and for a SHA-256 in hexadecimal digits.
std::string FaultOfUrl(const std::string& text);
std::string FaultOfDigest(const std::string& text);

// Returns $XDG_CACHE_HOME/vitrine/pull, else ~/.cache/vitrine/pull.
std::filesystem::path PullCache();

// Requests the revision's commit, its config.json, model card and model.safetensors, or the shards in its index if that
// file is missing; shows a progress bar on stderr and resumes earlier downloads. After an error, only partial downloads
// in the cache remain, and the message says what to do. UNAVAILABLE: no network; NOT_FOUND: no such model, revision or
// file; PERMISSION_DENIED: login required; FAILED_PRECONDITION: another architecture, or unsupported preprocessing;
// DATA_LOSS: digest mismatch.
absl::StatusOr<Pulled> Pull(const PullRequest& request);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_PULL_H_
