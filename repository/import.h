// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_IMPORT_H_
#define VITRINE_REPOSITORY_IMPORT_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "repository/safetensors.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Weights that others trained, under the names that their library gives them.
enum class ForeignSource {
  kTimm,         // pytorch-image-models: ViT, DeiT, XCiT
  kHuggingFace,  // transformers: ViTForImageClassification
};

using TensorMap = std::map<std::string, StoredTensor>;

// The config of a model by the name that its source gives it ("vit_tiny_patch16_224", "xcit_small_12_p8_384",
// "vit-base-patch16-224"), with that name's preprocessing: size, fit, crop, interpolation, mean and deviation as the
// source defines them. What a timm name has after a dot ("augreg_in21k_ft_in1k") says which weights, not which model;
// it is passed over where it changes nothing here. INVALID_ARGUMENT lists the names that are known.
absl::StatusOr<v1::ModelConfig> ForeignConfig(ForeignSource source, std::string_view arch, int classes);

// All names that ForeignConfig takes, sorted.
std::vector<std::string> ForeignArchs(ForeignSource source);

// The tensors of a foreign checkpoint under the names and in the layout of the model that `config` describes; nothing
// but renaming, reshaping, permuting and joining, in the stored types. `config` is ForeignConfig's or any of the same
// family whose layers the source has.
//
// FAILED_PRECONDITION names the first tensor, as the source calls it, that is missing, has another shape (expected and
// found) or is not floating-point, holds NaN or infinity, or has no place in the model. Passed over are BatchNorm's
// "num_batches_tracked" (timm) and the pooler "vit.pooler.*" (transformers), which the logits do not depend on.
// INVALID_ARGUMENT where the source has no such family. Thread-safe.
absl::StatusOr<TensorMap> RenameForeign(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors);

// The reverse: the tensors of a model that `config` describes under the names and in the layout of the source. Requires
// that `tensors` fit the config. INVALID_ARGUMENT where the source has no such family or no models of that form.
// Thread-safe.
absl::StatusOr<TensorMap> ForeignTensors(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors);

// Reads a safetensors file of at most 4 GiB; symbolic links are followed, a download cache is full of them.
// INVALID_ARGUMENT for a pickle, by its name (.bin, .pth, .pt, .ckpt, .pkl) or its first bytes: unpickling runs code
// that the file brings along. The sentence says how to save the tensors as safetensors instead.
absl::StatusOr<TensorMap> ReadForeignWeights(const std::filesystem::path& file);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_IMPORT_H_
