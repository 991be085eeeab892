// SPDX-License-Identifier: Apache-2.0
#include "tests/models/repository/kv_version.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cstring>

#include "models/reference/checkpoint/stored_tensors.h"
#include "tests/models/repository/sample_version.h"

namespace vitrine {

v1::ModelConfig SmallKvConfig() {
  v1::ModelConfig config = SampleDraft(0).manifest.config();
  v1::KvConfig& kv = *config.mutable_kv();
  kv.set_patch(4);
  kv.set_width(16);
  kv.set_depth(2);
  kv.set_heads(2);
  kv.set_mlp_width(32);
  kv.set_attention(v1::KvConfig::KV_POS);
  kv.set_position_channels(4);
  kv.set_grid_rows(2);
  kv.set_grid_columns(2);
  return config;
}

absl::StatusOr<FloatArray> DecodeRawImage(std::string_view image, const v1::Preprocessing&) {
  if (image.size() != 64) return absl::InvalidArgumentError("a raw image has 64 bytes");
  FloatArray input{.shape = {1, 8, 8}};
  for (const char value : image) input.values.push_back(static_cast<float>(static_cast<uint8_t>(value)) / 255);
  return input;
}

StoredVersion SmallKvVersion() {
  StoredVersion version;
  version.manifest = SampleDraft(0).manifest;
  version.manifest.set_model("small-kv");
  version.manifest.set_version(3);
  *version.manifest.mutable_config() = SmallKvConfig();
  version.labels = {"a", "b", "c"};
  const auto model = MakeModel(SmallKvConfig(), 7);
  EXPECT_TRUE(model.ok()) << model.status();
  version.manifest.set_parameters((*model)->CountParameters());
  version.weights = SaveWeights(**model, Dtype::kF32);
  version.golden.tensors["input.0"] = StoredOf(at::arange(64, at::kFloat).reshape({1, 8, 8}).div(32).sin());
  version.golden.tensors["picture.1"] = StoredOf(at::arange(64, at::kByte));
  version.golden.tensors["input.2"] = StoredOf(at::full({1, 8, 8}, 0.5, at::kFloat));
  const absl::Status recorded = RecordGolden(**model, ForwardOf(**model), DecodeRawImage, version.golden);
  EXPECT_TRUE(recorded.ok()) << recorded;
  return version;
}

}  // namespace vitrine
