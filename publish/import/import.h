// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_IMPORT_IMPORT_H_
#define VITRINE_PUBLISH_IMPORT_IMPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

struct ImportOptions {
  std::string repository;  // created if it is not there
  std::string model;       // the name to publish under
  std::string source;      // "timm" or "huggingface"
  std::string arch;        // as the source calls the model
  std::string weights;     // a safetensors file, one of several shards, their index or folder; empty with `pull`
  // A text file, line i is the label of class i, or a config.json; empty with `pull`: those of its config.json, else
  // ImageNet's.
  std::string labels;
  bool bf16 = false;  // storage

  std::optional<std::string> prefix = {};  // of the names of the model's copy that is meant

  std::string pull = {};       // "hf:ORG/NAME@REVISION": fetched from a hub of models
  std::string pull_from = {};  // another address of it; empty: kPullFrom
  std::string sha256 = {};     // of the file fetched

  // What the weights' own configuration says, where it differs from that of their name.
  std::vector<float> mean = {};
  std::vector<float> std = {};
  std::optional<double> crop = {};
  std::string interpolation = {};  // "bilinear" or "bicubic"
  std::string rounding = {};       // of the resize: "pillow" or "none"
  std::string fit = {};            // "stretch" or "crop"

  // "36-1024": pictures at their own aspect and size, on a grid of so many patches; empty for the architecture's size.
  std::string native = {};
};

// Empty for a range of patches as `native` has it; else what is wrong with it.
std::string FaultOfTokens(const std::string& text);

// Publishes weights that others trained, with the model, preprocessing and labels that they were trained with. Goldens
// are what this program's own forward pass gives. INVALID_ARGUMENT or FAILED_PRECONDITION, with nothing published,
// names what does not fit: a pickle, the tensor, the number of labels.
absl::Status ImportCommand(const ImportOptions& asked);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_IMPORT_IMPORT_H_
