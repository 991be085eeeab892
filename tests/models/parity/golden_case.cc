// SPDX-License-Identifier: Apache-2.0
#include "tests/models/parity/golden_case.h"

#include <ATen/ops/zeros.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/foreign/import.h"
#include "tests/models/parity/hashed.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine::testing {
namespace {

constexpr char kFolder[] = VITRINE_SOURCE "/tests/golden/parity";
constexpr std::string_view kSuffix = ".safetensors";

[[noreturn]] void Die(const std::string& why) {
  ADD_FAILURE() << why;
  std::abort();
}

std::vector<int64_t> ParseShape(std::string text) {
  std::replace(text.begin(), text.end(), 'x', ' ');
  std::istringstream stream(text);
  return {std::istream_iterator<int64_t>(stream), {}};
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

GoldenCase::GoldenCase(const std::string& name) {
  const std::string bytes = ReadFile(std::filesystem::path(kFolder) / (name + std::string(kSuffix)));
  absl::StatusOr<Safetensors> parsed = ParseSafetensors(bytes);
  if (!parsed.ok()) Die(name + ": " + parsed.status().ToString());
  for (const auto& [recorded, tensor] : parsed->tensors) recorded_[recorded] = TensorOf(tensor);
  std::map<std::string, std::string>& metadata = parsed->metadata;
  key_ = metadata["key"];
  arch_ = metadata["arch"];
  if (!google::protobuf::TextFormat::ParseFromString(metadata["config"], &config_)) Die(name + ": config");

  std::istringstream tensors(metadata["tensors"]);
  std::string shape;
  for (HashedRow row; tensors >> row.name >> shape >> row.centre >> row.half;) {
    row.shape = ParseShape(shape);
    rows_.push_back(row);
  }
  std::istringstream images(metadata["pictures"]);
  for (int channels, height, width; images >> channels >> height >> width;) {
    const std::string key = key_ + "/picture." + std::to_string(images_.size());
    images_.push_back(HashedImage(key, channels, height, width));
  }
  if (rows_.empty() || images_.empty()) Die(name + ": no tensors or no images");
}

std::vector<std::string> GoldenCase::All() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename();
    if (EndsWith(name, kSuffix)) names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Safetensors GoldenCase::Weights() const {
  Safetensors weights;
  for (const HashedRow& row : rows_) {
    weights.tensors[row.name] = StoredOf(HashedTensor(key_ + "/" + row.name, row.shape, row.centre, row.half));
    constexpr std::string_view kVariance = "running_var";
    if (!arch_.empty() && EndsWith(row.name, kVariance)) {
      weights.tensors[row.name.substr(0, row.name.size() - kVariance.size()) + "num_batches_tracked"] =
          StoredOf(at::zeros({}, at::kLong));
    }
  }
  return weights;
}

std::unique_ptr<Model> GoldenCase::Build() const {
  absl::StatusOr<std::unique_ptr<Model>> model = MakeModel(config_);
  if (!model.ok()) Die(key_ + ": " + model.status().ToString());
  Safetensors published = Weights();
  if (!arch_.empty()) {
    const ForeignSource source = arch_.starts_with("transformers/") ? ForeignSource::kHuggingFace
                                 : arch_.starts_with("openclip/")   ? ForeignSource::kOpenClip
                                                                    : ForeignSource::kTimm;
    absl::StatusOr<TensorMap> renamed = RenameForeign(source, config_, published.tensors);
    if (!renamed.ok()) Die(key_ + ": " + renamed.status().ToString());
    published.tensors = *std::move(renamed);
  }
  if (const absl::Status loaded = LoadWeights(published, **model); !loaded.ok()) Die(key_ + ": " + loaded.ToString());
  return *std::move(model);
}

}  // namespace vitrine::testing
