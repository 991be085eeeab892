// SPDX-License-Identifier: Apache-2.0
#include "tests/models/repository/sample_version.h"

#include <ATen/ops/full.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "absl/strings/match.h"
#include "models/reference/checkpoint/stored_tensors.h"

namespace vitrine {

std::filesystem::path FastParent() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

Draft SampleDraft(float fill) {
  Draft draft;
  v1::ModelConfig& config = *draft.manifest.mutable_config();
  config.set_classes(3);
  config.mutable_null();
  v1::Preprocessing& preprocessing = *config.mutable_preprocessing();
  preprocessing.set_channels(1);
  preprocessing.add_mean(0.5f);
  preprocessing.add_std(0.25f);
  preprocessing.set_interpolation(v1::BILINEAR);
  preprocessing.mutable_fixed()->set_height(8);
  preprocessing.mutable_fixed()->set_width(8);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::STRETCH);
  v1::GoldenTolerance& tolerance = *draft.manifest.add_golden_tolerances();
  tolerance.set_device("cpu");
  tolerance.set_precision("fp32");
  tolerance.set_tolerance(1e-5f);
  draft.weights.tensors["weight"] = StoredOf(at::full({4, 3}, fill, at::kFloat));
  draft.golden.tensors["picture.0"] = StoredOf(at::full({10}, 7, at::kByte));
  draft.golden.tensors["logits.0"] = StoredOf(at::full({3}, 0.0, at::kFloat));
  draft.labels = {"cat", "dog", "Zürich"};
  draft.extra_files["model_card.md"] = "# A card\n";
  return draft;
}

float FillOf(const StoredVersion& version) {
  return version.weights.tensors.at("weight").As<float>()[0];
}

std::vector<std::string> Entries(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void MakeTemporaryFoldersOld(const std::filesystem::path& model) {
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(48);
  for (const std::string& name : Entries(model)) {
    if (absl::StartsWith(name, ".tmp-")) std::filesystem::last_write_time(model / name, old);
  }
}

void WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace vitrine
