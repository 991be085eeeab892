// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_IMPORT_PULL_H_
#define VITRINE_PUBLISH_IMPORT_PULL_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

inline constexpr char kPullFrom[] = "https://huggingface.co";

// What is asked of a hub of models that speaks Hugging Face's protocol.
struct PullRequest {
  std::string model;  // "hf:ORG/NAME@REVISION", or without revision for "main"
  std::string arch;   // as the weights' source calls it
  // Of model.safetensors; of weights in shards, of what `sha256sum *.safetensors` prints of them. Empty: the hub's
  // word.
  std::string sha256 = {};
  std::string base = kPullFrom;      // of addresses; over http:// nobody vouches for the digest but --sha256
  std::filesystem::path cache = {};  // where downloads wait
};

// What came, and how the weights want their pictures, where the hub's config.json says it.
struct Pulled {
  std::vector<std::filesystem::path> weights = {};  // one file, or the shards
  v1::Origin origin = {};
  std::string config = {};  // config.json; empty: the model has none
  std::vector<float> mean = {}, std = {};
  std::optional<double> crop = {};
  std::string interpolation = {};  // "bilinear" or "bicubic"
};

// Empty for "hf:ORG/NAME" with or without "@REVISION"; else what is wrong with it.
std::string FaultOfPull(const std::string& model);
// The same of a hub's address and of a SHA-256 in hexadecimal digits.
std::string FaultOfUrl(const std::string& text);
std::string FaultOfDigest(const std::string& text);

// $XDG_CACHE_HOME/vitrine/pull, else ~/.cache/vitrine/pull.
std::filesystem::path PullCache();

// Asks for the revision's commit, its config.json, its model card and model.safetensors, or the shards that its index
// names where it has no such file; the weights with a bar on stderr and from where an earlier call ended. Every error
// leaves nothing but a part of the file in the cache, and says what to do: UNAVAILABLE without a network; NOT_FOUND: no
// such model, revision or file; PERMISSION_DENIED: a login is asked for; FAILED_PRECONDITION: of another architecture,
// or with pictures that cannot be had here; DATA_LOSS: another digest.
absl::StatusOr<Pulled> Pull(const PullRequest& request);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_IMPORT_PULL_H_
