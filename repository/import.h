// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_IMPORT_H_
#define VITRINE_REPOSITORY_IMPORT_H_

#include <filesystem>
#include <map>
#include <optional>
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

// Weights under the names of their source, freed of what training put around them.
struct UnwrappedWeights {
  TensorMap tensors;
  std::string prefix;                    // that every name had in the file, as "module."; empty: none
  std::vector<std::string> others;       // prefixes of the copies of the model that were not chosen
  std::vector<std::string> passed_over;  // names of tensors that are not of the model, sorted
};

// Takes the segments of torch.compile, FSDP and activation checkpointing out of the names ("_orig_mod"), then cuts off
// what DataParallel, Lightning, an average of weights or a nested dictionary put before all of them ("module.",
// "model.", "ema_model.", "state_dict."). Of several copies the one with this `prefix` is taken, else the one that is
// an average by its name. Tensors beside the model are passed over where a prefix tells them from it.
// FAILED_PRECONDITION lists the copies where none can be chosen. Weights in which no model is found are returned as
// they are.
absl::StatusOr<UnwrappedWeights> UnwrapForeign(TensorMap tensors,
                                               const std::optional<std::string>& prefix = std::nullopt);

// What timm and transformers call the file of the weights, and the index where they are in several files.
inline constexpr char kForeignWeightsFile[] = "model.safetensors";
inline constexpr char kForeignIndexFile[] = "model.safetensors.index.json";

// The files that an index of shards names, sorted. INVALID_ARGUMENT: no index, or a file elsewhere than beside it.
absl::StatusOr<std::vector<std::string>> ShardsOfIndex(std::string_view json);

// The files that hold the weights that `named` stands for: itself; all shards, of one of them
// ("model-00001-of-00002.safetensors") or of their index; those of a folder. NOT_FOUND names a shard that is missing.
absl::StatusOr<std::vector<std::filesystem::path>> ForeignFiles(const std::filesystem::path& named);

// Reads safetensors files of at most 4 GiB together; symbolic links are followed, a download cache is full of them.
// INVALID_ARGUMENT for a pickle, by its name (.bin, .pth, .pt, .ckpt, .pkl) or its first bytes: unpickling runs code
// that the file brings along. The sentence says how to save the tensors as safetensors instead.
absl::StatusOr<TensorMap> ReadForeignWeights(const std::vector<std::filesystem::path>& files);
// The same of ForeignFiles(named).
absl::StatusOr<TensorMap> ReadForeignWeights(const std::filesystem::path& named);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_IMPORT_H_
