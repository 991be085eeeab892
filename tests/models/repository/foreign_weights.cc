// SPDX-License-Identifier: Apache-2.0
#include "tests/models/repository/foreign_weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "models/reference/checkpoint/stored_tensors.h"

namespace vitrine {
namespace {

// Collects tensors. Weights of norms are near 1; weights of a matrix are below 1 / sqrt(number of its inputs).
class Checkpoint {
 public:
  void Matrix(const std::string& name, std::vector<int64_t> shape) {
    int64_t fan_in = 1;
    for (size_t i = 1; i < shape.size(); ++i) fan_in *= shape[i];
    tensors_[name + ".weight"] = HashedTensor(shape, ++seed_, std::sqrt(fan_in));
    tensors_[name + ".bias"] = HashedTensor({shape[0]}, ++seed_, 4);
  }
  void Norm(const std::string& name, int64_t width) {
    tensors_[name + ".weight"] = HashedTensor({width}, ++seed_, 4).add_(1);
    tensors_[name + ".bias"] = HashedTensor({width}, ++seed_, 4);
  }
  void BatchNorm(const std::string& name, int64_t width) {
    Norm(name, width);
    tensors_[name + ".running_mean"] = HashedTensor({width}, ++seed_, 4);
    tensors_[name + ".running_var"] = HashedTensor({width}, ++seed_, 4).add_(1);
    tensors_[name + ".num_batches_tracked"] = at::full({}, 1000, at::kLong);
  }
  void Plain(const std::string& name, const std::vector<int64_t>& shape, double offset = 0) {
    tensors_[name] = HashedTensor(shape, ++seed_, 4).add_(offset);
  }
  void Erase(const std::string& name) { tensors_.erase(name); }
  Tensors Take() { return std::move(tensors_); }

 private:
  Tensors tensors_;
  uint64_t seed_ = 0;
};

}  // namespace

TensorMap Stored(const Tensors& tensors) {
  TensorMap stored;
  for (const auto& [name, tensor] : tensors) stored[name] = StoredOf(tensor);
  return stored;
}

at::Tensor HashedTensor(at::IntArrayRef shape, uint64_t seed, double divisor) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    uint64_t x = (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15 + seed * 0xd1b54a32d192ed03;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    values[i] = static_cast<float>((static_cast<double>((x >> 40) & 0xffffff) / 8388608.0 - 1.0) / divisor);
  }
  return tensor;
}

v1::ModelConfig SmallVit(ForeignSource source) {
  const bool timm = source == ForeignSource::kTimm;
  v1::ModelConfig config = *ForeignConfig(source, timm ? "vit_tiny_patch16_224" : "vit-tiny-patch16-224",
                                          static_cast<int>(kSmallVit.classes));
  config.mutable_preprocessing()->mutable_fixed()->set_height(12);
  config.mutable_preprocessing()->mutable_fixed()->set_width(16);
  v1::VitConfig& vit = *config.mutable_vit();
  vit.set_patch(4);
  vit.set_width(24);
  vit.set_depth(2);
  vit.set_heads(3);
  vit.set_mlp_width(96);
  vit.set_grid_rows(3);
  vit.set_grid_columns(4);
  return config;
}

Tensors TimmVitWeights(const VitSizes& sizes) {
  const int64_t d = sizes.width;
  Checkpoint checkpoint;
  checkpoint.Plain("cls_token", {1, 1, d});
  checkpoint.Plain("pos_embed", {1, 1 + sizes.cells, d});
  checkpoint.Matrix("patch_embed.proj", {d, 3, sizes.patch, sizes.patch});
  for (int64_t i = 0; i < sizes.depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    checkpoint.Norm(block + ".norm1", d);
    checkpoint.Matrix(block + ".attn.qkv", {3 * d, d});
    checkpoint.Matrix(block + ".attn.proj", {d, d});
    checkpoint.Norm(block + ".norm2", d);
    checkpoint.Matrix(block + ".mlp.fc1", {4 * d, d});
    checkpoint.Matrix(block + ".mlp.fc2", {d, 4 * d});
  }
  checkpoint.Norm("norm", d);
  checkpoint.Matrix("head", {sizes.classes, d});
  return checkpoint.Take();
}

Tensors HuggingFaceVitWeights(const VitSizes& sizes) {
  const int64_t d = sizes.width;
  Checkpoint checkpoint;
  checkpoint.Plain("vit.embeddings.cls_token", {1, 1, d});
  checkpoint.Plain("vit.embeddings.position_embeddings", {1, 1 + sizes.cells, d});
  checkpoint.Matrix("vit.embeddings.patch_embeddings.projection", {d, 3, sizes.patch, sizes.patch});
  for (int64_t i = 0; i < sizes.depth; ++i) {
    const std::string layer = "vit.encoder.layer." + std::to_string(i);
    checkpoint.Norm(layer + ".layernorm_before", d);
    for (const char* part : {"query", "key", "value"})
      checkpoint.Matrix(layer + ".attention.attention." + part, {d, d});
    checkpoint.Matrix(layer + ".attention.output.dense", {d, d});
    checkpoint.Norm(layer + ".layernorm_after", d);
    checkpoint.Matrix(layer + ".intermediate.dense", {4 * d, d});
    checkpoint.Matrix(layer + ".output.dense", {d, 4 * d});
  }
  checkpoint.Norm("vit.layernorm", d);
  checkpoint.Matrix("classifier", {sizes.classes, d});
  return checkpoint.Take();
}

Tensors TimmXcitWeights(int64_t width, int64_t depth, int64_t heads, int64_t patch, int64_t classes) {
  const int64_t d = width;
  Checkpoint checkpoint;
  checkpoint.Plain("cls_token", {1, 1, d});
  const int steps = patch == 16 ? 4 : 3;
  for (int step = 0; step < steps; ++step) {
    const std::string layer = "patch_embed.proj." + std::to_string(2 * step);
    const int64_t outputs = d >> (steps - 1 - step);
    checkpoint.Matrix(layer + ".0", {outputs, step == 0 ? 3 : outputs / 2, 3, 3});
    checkpoint.Erase(layer + ".0.bias");
    checkpoint.BatchNorm(layer + ".1", outputs);
  }
  checkpoint.Matrix("pos_embed.token_projection", {d, 64, 1, 1});
  for (int64_t i = 0; i < depth; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    for (const char* gamma : {".gamma1", ".gamma2", ".gamma3"}) checkpoint.Plain(block + gamma, {d});
    for (const char* norm : {".norm1", ".norm2", ".norm3"}) checkpoint.Norm(block + norm, d);
    checkpoint.Plain(block + ".attn.temperature", {heads, 1, 1}, 1);
    checkpoint.Matrix(block + ".attn.qkv", {3 * d, d});
    checkpoint.Matrix(block + ".attn.proj", {d, d});
    checkpoint.Matrix(block + ".local_mp.conv1", {d, 1, 3, 3});
    checkpoint.BatchNorm(block + ".local_mp.bn", d);
    checkpoint.Matrix(block + ".local_mp.conv2", {d, 1, 3, 3});
    checkpoint.Matrix(block + ".mlp.fc1", {4 * d, d});
    checkpoint.Matrix(block + ".mlp.fc2", {d, 4 * d});
  }
  for (int i = 0; i < 2; ++i) {
    const std::string block = "cls_attn_blocks." + std::to_string(i);
    for (const char* gamma : {".gamma1", ".gamma2"}) checkpoint.Plain(block + gamma, {d});
    for (const char* norm : {".norm1", ".norm2"}) checkpoint.Norm(block + norm, d);
    for (const char* part : {".attn.q", ".attn.k", ".attn.v", ".attn.proj"}) checkpoint.Matrix(block + part, {d, d});
    checkpoint.Matrix(block + ".mlp.fc1", {4 * d, d});
    checkpoint.Matrix(block + ".mlp.fc2", {d, 4 * d});
  }
  checkpoint.Norm("norm", d);
  checkpoint.Matrix("head", {classes, d});
  return checkpoint.Take();
}

}  // namespace vitrine
