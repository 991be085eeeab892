// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_H_
#define VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/repository/files/safetensors.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// The library that weights come from. It determines the names of the tensors.
enum class ForeignSource {
  kTimm,         // pytorch-image-models: ViT, DeiT, DINOv2, CLIP, XCiT
  kHuggingFace,  // transformers: ViTForImageClassification, DeiTForImageClassificationWithTeacher, Dinov2Model,
                 // CLIPModel
  kOpenClip,     // open_clip and OpenAI's CLIP: image towers
};

// Returns the source by its name: "timm", "huggingface" or "openclip". INVALID_ARGUMENT lists the names.
absl::StatusOr<ForeignSource> ForeignSourceNamed(std::string_view name);

using TensorMap = std::map<std::string, StoredTensor>;

// Returns the config of a model by its name in the source ("vit_tiny_patch16_224", "xcit_small_12_p8_384",
// "vit-base-patch16-224"), with the source's preprocessing for this model: size, fit, crop, interpolation, mean and
// deviation. A timm name may end with a dot and the tag of its published weights ("augreg_in21k_ft_in1k").
// INVALID_ARGUMENT: the name is unknown (the message lists similar names), or the preprocessing for the tag is unknown.
absl::StatusOr<v1::ModelConfig> ForeignConfig(ForeignSource source, std::string_view arch, int classes);

// Returns all names that ForeignConfig accepts, sorted.
std::vector<std::string> ForeignArchs(ForeignSource source);

// Converts the tensors of a foreign checkpoint to the names and layout of the model that `config` describes. Only
// renames, reshapes, permutes and joins tensors; keeps their stored types. `config` is a result of ForeignConfig, or
// another config of the same model family. All layers of such a config must exist in the source library.
//
// FAILED_PRECONDITION names the first tensor (by its source name) that is missing, has another shape, is not
// floating-point, is not finite, or has no counterpart in the model. The message also gives the expected and the found
// shape, and the names (see ForeignArchs) of the models that the tensors fit. Ignores tensors that do not affect the
// outputs: "num_batches_tracked" of BatchNorm, a bias of CLIP's projection if it is all zeros (timm), the pooler
// "vit.pooler.*" (transformers) and CLIP's text tower. Tensors may have no data; the results then have no data, too.
// INVALID_ARGUMENT if the source library has no model of this family, or no model with the options that `config` sets.
// Thread-safe.
absl::StatusOr<TensorMap> RenameForeign(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors);

// Inverts RenameForeign: converts the tensors of the model that `config` describes to the names and layout of the
// source. Requires that `tensors` fit the config. INVALID_ARGUMENT as in RenameForeign. Thread-safe.
absl::StatusOr<TensorMap> ForeignTensors(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors);

// Weights under the names of their source library, without the prefixes and segments that training adds to names.
struct UnwrappedWeights {
  TensorMap tensors;
  std::string prefix;               // start of the tensor names in the chosen copy, like "module."; may be empty
  std::vector<std::string> others;  // prefixes of the model copies that were not chosen
  TensorMap outside;                // other tensors of the file; ignored
};

// Removes name segments of torch.compile, FSDP and activation checkpointing ("_orig_mod"), then the prefix that
// DataParallel, Lightning, a weight average or a nested dictionary puts before all names ("module.", "model.",
// "ema_model.", "state_dict."). If the file has several copies of the model, takes the copy with this `prefix`; without
// `prefix`, takes the copy that is a weight average, recognized by its name. Ignores tensors whose prefix shows that
// they do not belong to the model. FAILED_PRECONDITION lists the copies if none can be chosen. If no model is
// recognized, removes only the segments.
absl::StatusOr<UnwrappedWeights> UnwrapForeign(TensorMap tensors,
                                               const std::optional<std::string>& prefix = std::nullopt);

// Returns the source's name of the head: "head", "classifier" or "cls_classifier".
const char* HeadName(ForeignSource source, const v1::ModelConfig& config);

// Returns true if the source library can add a head to a model of this kind that was published without a head, as timm
// does for DINOv2.
bool MayAddHead(ForeignSource source, const v1::ModelConfig& config);

// Returns true if the weights have no head, although the config requires a head. This is the case if `config` is a ViT
// with classes and one head, the tensors of `weights` fit all other layers, and no tensor of `weights` (including
// `outside`) can be the weight of a head.
bool LacksHead(ForeignSource source, const v1::ModelConfig& config, const UnwrappedWeights& weights);

// If the file has no layer named HeadName, searches for the head under another common name, such as "fc", "classifier",
// "head.fc" or "heads.head". Also finds the head if the names of all other layers have a prefix like "backbone.". If
// only one pair of tensors can be the head, renames that pair to HeadName and returns its former name. Returns "" if
// the file has HeadName, or if its other layers do not fit `config`; RenameForeign then reports the error.
// FAILED_PRECONDITION names the pairs that may be the head, or says that there is no such pair. If `config` has no
// classes, a head is optional, and is searched for only if MayAddHead is true.
absl::StatusOr<std::string> AdoptHead(ForeignSource source, const v1::ModelConfig& config, UnwrappedWeights& weights);

// File names in timm and transformers: the weights, and the index that lists the shards of the weights.
inline constexpr char kForeignWeightsFile[] = "model.safetensors";
inline constexpr char kForeignIndexFile[] = "model.safetensors.index.json";
inline constexpr char kOpenClipWeightsFile[] = "open_clip_model.safetensors";  // the name in OpenCLIP

// Returns the sorted names of the files that the index `json` lists. INVALID_ARGUMENT if `json` is not an index or
// lists a file in another folder.
absl::StatusOr<std::vector<std::string>> ShardsOfIndex(std::string_view json);

// Returns the weight files that `named` refers to. For a weights file, returns that file; for a shard
// ("model-00001-of-00002.safetensors") or an index, returns all shards. For a folder, returns the files of the weights
// file or index in this folder; the file names of timm and transformers take precedence. NOT_FOUND names a missing
// shard.
absl::StatusOr<std::vector<std::filesystem::path>> ForeignFiles(const std::filesystem::path& named);

// Reads safetensors files of at most 4 GiB in total. Follows symbolic links, which download caches use.
// INVALID_ARGUMENT for a pickle, because unpickling runs code from the file. A pickle is recognized by its name (.bin,
// .pth, .pt, .ckpt, .pkl) or its first bytes; the message says how to save tensors as safetensors instead. Adds the
// files' metadata to `metadata` if that is not null.
absl::StatusOr<TensorMap> ReadForeignWeights(const std::vector<std::filesystem::path>& files,
                                             std::map<std::string, std::string>* metadata = nullptr);
// Adds to `all` the tensors of a safetensors file with `file_bytes` bytes, without their data. `start` has the first
// bytes of the file, at least the whole header. `file` is the name in messages. Returns the errors of
// ReadForeignWeights.
absl::Status AddForeignHeader(const std::filesystem::path& file, std::string_view start, uint64_t file_bytes,
                              TensorMap& all);
// Reads the files of ForeignFiles(named).
absl::StatusOr<TensorMap> ReadForeignWeights(const std::filesystem::path& named,
                                             std::map<std::string, std::string>* metadata = nullptr);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_H_
