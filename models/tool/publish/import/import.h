// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_IMPORT_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_IMPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/repository/repository.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

struct ImportOptions {
  std::string repository = {};  // created if missing
  std::string model = {};       // name to publish under
  // "timm", "huggingface" or "openclip", and the model's name in that library. Empty: as in config.json.
  std::string source = {};
  std::string arch = {};
  std::string weights = {};  // a safetensors file, a shard, an index of shards, or a folder; empty with `pull`
  // A text file whose line i is the label of class i, or a config.json. Empty: labels of the model's config.json,
  // otherwise ImageNet's.
  std::string labels = {};
  // A NumPy file with one vector per label, from which a cosine head is made; empty: none.
  std::string zero_shot = {};
  std::optional<double> logit_scale = {};  // factor of the cosines; default: as LogitScaleOf
  bool bf16 = false;                       // store weights as bf16

  std::optional<std::string> prefix = {};  // name prefix of the model copy to import, if the file has several copies

  // Text of the file kSourceFile of an earlier import; "" if there was no import. If set, Import adds a new
  // kSourceFile to the version, and imports nothing if its text would equal `known`.
  std::optional<std::string> known = {};

  std::string pull = {};        // "hf:ORG/NAME@REVISION": download from a model hub
  std::string pull_from = {};   // address of another hub; empty: kPullFrom
  std::string sha256 = {};      // expected digest of the downloaded file
  std::string pull_cache = {};  // folder of downloads; empty: PullCache()

  // Preprocessing of the imported weights. For an empty value, the architecture's preprocessing is used.
  std::vector<float> mean = {};
  std::vector<float> std = {};
  std::optional<double> crop = {};
  std::string interpolation = {};          // "bilinear" or "bicubic"
  std::string rounding = {};               // rounding in the resize: "pillow" or "none"
  std::string fit = {};                    // "stretch" or "crop"
  std::optional<float> norm_epsilon = {};  // epsilon of the LayerNorms, from a config.json of transformers; has no flag

  std::string licence = {};  // licence of the weights; empty: as stated by their source
  // "36-1024": use images at their native aspect ratio and size, with 36 to 1024 patches each; empty: the
  // architecture's size.
  std::string native = {};
};

// File of a version that lists everything that determines the version's content: the digests of the files from which it
// was imported, their licence, the weights' URL, and the version number of the importer.
inline constexpr char kSourceFile[] = "source.txt";

// Returns "" if `text` is a range of patches as in `native`; otherwise the error.
std::string FaultOfTokens(const std::string& text);

struct Imported {
  VersionId version;
  v1::Manifest manifest;
  size_t classes = 0;
  std::string source = {};  // as in ImportOptions, or as found in config.json
  std::string arch = {};
};

// Publishes weights trained elsewhere, with their model, preprocessing and labels. Goldens are computed by our own
// forward pass. INVALID_ARGUMENT or FAILED_PRECONDITION names the cause (a pickle, a tensor, the number of labels);
// then nothing is published. ALREADY_EXISTS: the text of kSourceFile would equal `asked.known`; the weights were not
// downloaded.
absl::StatusOr<Imported> Import(const ImportOptions& asked);

// Calls Import and prints the result.
absl::Status ImportCommand(const ImportOptions& asked);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_IMPORT_H_
