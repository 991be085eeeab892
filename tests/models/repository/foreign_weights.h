// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REPOSITORY_FOREIGN_WEIGHTS_H_
#define VITRINE_TESTS_MODELS_REPOSITORY_FOREIGN_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "models/repository/foreign/import.h"

namespace vitrine {

using Tensors = std::map<std::string, at::Tensor>;

// Converts the tensors to the type that ReadForeignWeights returns.
TensorMap Stored(const Tensors& tensors);

// Returns values in [-1, 1) / `divisor` from an integer hash of seed and position.
at::Tensor HashedTensor(at::IntArrayRef shape, uint64_t seed, double divisor = 1);

// Sizes of a ViT. The functions below return checkpoints with hashed values in the formats of timm and transformers.
// Names and shapes of their tensors come from the sources of these libraries, not from our tables.
struct VitSizes {
  int64_t width, depth, patch, cells, classes;
};
inline constexpr VitSizes kSmallVit = {.width = 24, .depth = 2, .patch = 4, .cells = 12, .classes = 5};
// Returns the config of a ViT with the sizes kSmallVit, for images of 12 x 16 pixels.
v1::ModelConfig SmallVit(ForeignSource source);
Tensors TimmVitWeights(const VitSizes& sizes);
Tensors HuggingFaceVitWeights(const VitSizes& sizes);
// Returns the weights of an XCiT, with the 64-bit "num_batches_tracked" of every BatchNorm.
Tensors TimmXcitWeights(int64_t width, int64_t depth, int64_t heads, int64_t patch, int64_t classes);

}  // namespace vitrine

#endif  // VITRINE_TESTS_MODELS_REPOSITORY_FOREIGN_WEIGHTS_H_
