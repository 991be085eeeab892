// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "models/model_description.h"
#include "models/repository/files/text.h"
#include "models/repository/foreign/import_names.h"

namespace vitrine {
namespace {

using Shape = std::vector<int64_t>;

absl::Status RefusedForeign(const std::string& name, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat("tensor ", Quoted(name), " ", fault));
}

std::string ToString(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

// Returns the channels, height and width of a patch, for families whose patch weights are a matrix.
Shape PatchShape(const v1::ModelConfig& config) {
  return {config.preprocessing().channels(), config.vit().patch(), config.vit().patch()};
}

// Returns the foreign shape for our shape `ours`.
Shape ForeignShape(Reshape reshape, Shape ours, const v1::ModelConfig& config) {
  const Shape patch = PatchShape(config);
  switch (reshape) {
    case Reshape::kSame:
      break;
    case Reshape::kOneLess:
      ours.insert(ours.begin(), 1);
      break;
    case Reshape::kOneMore:
      ours.erase(ours.begin());
      break;
    case Reshape::kTransposed:
      return {ours[1], ours[0]};
    case Reshape::kPatchRows:
      return {ours[0], patch[0], patch[1], patch[2]};
    case Reshape::kMatrix:
      ours.insert(ours.end(), {1, 1});
      break;
    case Reshape::kStackedQkv:
      ours[0] /= 3;
      break;
  }
  return ours;
}

// Stacks the rows of all parts, as fp32 if their types differ.
StoredTensor Stacked(std::vector<StoredTensor> parts, const Shape& ours) {
  const bool is_mixed = std::ranges::any_of(parts, [&](const auto& part) { return part.dtype != parts[0].dtype; });
  if (is_mixed) std::ranges::transform(parts, parts.begin(), ToF32);
  std::byte* bytes = nullptr;
  StoredTensor stacked = MakeStored(parts[0].dtype, ours, bytes);
  for (const StoredTensor& part : parts) {
    std::memcpy(bytes, part.data.get(), static_cast<size_t>(part.bytes()));
    bytes += part.bytes();
  }
  return stacked;
}

// Converts [outputs, channels, height, width] to [outputs, height x width x channels].
StoredTensor ChannelsLast(const StoredTensor& foreign, const Shape& ours) {
  const int64_t channels = foreign.shape[1], places = foreign.shape[2] * foreign.shape[3];
  const auto item = static_cast<size_t>(BytesOf(foreign.dtype));
  std::byte* bytes = nullptr;
  StoredTensor rows = MakeStored(foreign.dtype, ours, bytes);
  for (int64_t output = 0; output < foreign.shape[0]; ++output) {
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        const auto from = static_cast<size_t>((output * channels + channel) * places + place);
        std::memcpy(bytes, foreign.data.get() + from * item, item);
        bytes += item;
      }
    }
  }
  return rows;
}

StoredTensor Transposed(const StoredTensor& matrix, const Shape& to) {
  const auto item = static_cast<size_t>(BytesOf(matrix.dtype));
  std::byte* bytes = nullptr;
  StoredTensor made = MakeStored(matrix.dtype, to, bytes);
  for (int64_t row = 0; row < to[0]; ++row) {
    for (int64_t column = 0; column < to[1]; ++column) {
      std::memcpy(bytes, matrix.data.get() + static_cast<size_t>(column * to[0] + row) * item, item);
      bytes += item;
    }
  }
  return made;
}

StoredTensor Reshaped(Reshape reshape, const std::vector<StoredTensor>& foreign, const Shape& ours) {
  if (foreign[0].data == nullptr) return {.dtype = foreign[0].dtype, .shape = ours};
  if (reshape == Reshape::kStackedQkv) return Stacked(foreign, ours);
  if (reshape == Reshape::kPatchRows) return ChannelsLast(foreign[0], ours);
  if (reshape == Reshape::kTransposed) return Transposed(foreign[0], ours);
  return {.dtype = foreign[0].dtype, .shape = ours, .data = foreign[0].data};
}

// Converts [outputs, height x width x channels] to `foreign`, [outputs, channels, height, width].
StoredTensor ChannelsFirst(const StoredTensor& rows, const Shape& foreign) {
  const int64_t channels = foreign[1], places = foreign[2] * foreign[3];
  const auto item = static_cast<size_t>(BytesOf(rows.dtype));
  std::byte* bytes = nullptr;
  StoredTensor tensor = MakeStored(rows.dtype, foreign, bytes);
  for (int64_t output = 0; output < foreign[0]; ++output) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      for (int64_t place = 0; place < places; ++place) {
        const auto from = static_cast<size_t>((output * places + place) * channels + channel);
        std::memcpy(bytes, rows.data.get() + from * item, item);
        bytes += item;
      }
    }
  }
  return tensor;
}

// Inverts Reshaped: returns foreign tensor number `part` (from 0) of the tensors that Reshaped joined.
StoredTensor Restored(Reshape reshape, const StoredTensor& ours, const Shape& foreign, size_t part) {
  if (reshape == Reshape::kPatchRows) return ChannelsFirst(ours, foreign);
  if (reshape == Reshape::kTransposed) return Transposed(ours, foreign);
  StoredTensor tensor{.dtype = ours.dtype, .shape = foreign, .data = ours.data};
  if (reshape == Reshape::kStackedQkv) {
    std::byte* bytes = nullptr;
    tensor = MakeStored(ours.dtype, foreign, bytes);
    std::memcpy(bytes, ours.data.get() + part * static_cast<size_t>(tensor.bytes()),
                static_cast<size_t>(tensor.bytes()));
  }
  return tensor;
}

// A rule for one layer, with the layer's index inserted in the names.
struct Rename {
  std::vector<std::string> foreign;
  std::string ours;
  Reshape reshape;
};

int Count(Repeat repeat, const v1::ModelConfig& config) {
  switch (repeat) {
    case Repeat::kOnce:
      return 1;
    case Repeat::kBlocks:
      return config.has_xcit() ? config.xcit().depth() : config.vit().depth();
    case Repeat::kClassBlocks:
      return config.xcit().class_depth();
    case Repeat::kStem:
      return config.xcit().patch() == 16 ? 4 : 3;
  }
  return 0;
}

std::vector<std::string> Parts(const std::string& alternatives) {
  return absl::StrSplit(alternatives, '|');
}

std::vector<Rename> Expand(std::span<const NameRule> rules, const v1::ModelConfig& config) {
  std::vector<Rename> renames;
  for (const NameRule& rule : rules) {
    for (int i = 0; i < Count(rule.repeat, config); ++i) {
      const std::string number = absl::StrCat(i);
      const std::string foreign = absl::StrReplaceAll(rule.foreign, {{"#", number}, {"@", absl::StrCat(2 * i)}});
      Rename rename{{foreign}, absl::StrReplaceAll(rule.ours, {{"#", number}}), rule.reshape};
      if (rule.reshape == Reshape::kStackedQkv) {
        const size_t open = foreign.find('{'), close = foreign.find('}');
        rename.foreign.clear();
        for (const std::string& part : Parts(foreign.substr(open + 1, close - open - 1))) {
          rename.foreign.push_back(absl::StrCat(foreign.substr(0, open), part, foreign.substr(close + 1)));
        }
      }
      renames.push_back(std::move(rename));
    }
  }
  return renames;
}

// Returns a hint for common mistakes, such as a file of another library; "" if none is found.
std::string Hint(ForeignSource source, const TensorMap& tensors) {
  if (source == ForeignSource::kTimm && tensors.contains("vit.embeddings.cls_token")) {
    return "; the names match --from huggingface";
  }
  if (source == ForeignSource::kHuggingFace && tensors.contains("cls_token")) {
    return "; the names match --from timm";
  }
  if (source == ForeignSource::kHuggingFace && tensors.contains("embeddings.cls_token") &&
      !tensors.contains("embeddings.mask_token")) {
    return "; the file is a ViTModel of transformers, which has no classifier: save ViTForImageClassification";
  }
  const bool is_clip =
      tensors.contains("embeddings.class_embedding") || tensors.contains("vision_model.embeddings.class_embedding");
  if (source == ForeignSource::kHuggingFace && is_clip && !tensors.contains("visual_projection.weight")) {
    return "; the file is a CLIPVisionModel of transformers, which has no projection: save "
           "CLIPVisionModelWithProjection";
  }
  if (source == ForeignSource::kTimm && tensors.contains("norm_pre.weight") && !tensors.contains("head.weight")) {
    return "; CLIP's projection is needed, and timm leaves it out with num_classes=0: save the model with timm's "
           "default, num_classes=512 (L/14: 768)";
  }
  if (tensors.contains("conv_proj.weight") && tensors.contains("encoder.pos_embedding")) {
    return "; the names are those of torchvision's VisionTransformer, which --from does not have: train the model with "
           "timm or transformers";
  }
  if (tensors.contains("fc_norm.weight")) {
    return "; \"fc_norm.weight\" belongs to a model that classifies the average of its tokens (timm's "
           "global_pool=\"avg\"), which is another architecture";
  }
  return "";
}

absl::StatusOr<StoredTensor> Take(const std::string& name, const Shape& wanted, ForeignSource source,
                                  const TensorMap& tensors) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    return RefusedForeign(name,
                          absl::StrCat("is missing; the model needs it as ", ToString(wanted), Hint(source, tensors)));
  }
  const StoredTensor& tensor = found->second;
  if (tensor.shape != wanted) {
    return RefusedForeign(name,
                          absl::StrCat("has shape ", ToString(tensor.shape), "; the model needs ", ToString(wanted)));
  }
  if (!IsFloating(tensor.dtype)) {
    return RefusedForeign(name, absl::StrCat("is stored as ", std::string(NameOf(tensor.dtype)),
                                             "; the model needs floating-point numbers"));
  }
  return tensor;
}

absl::Status CheckAllUsed(ForeignSource source, const TensorMap& tensors, const std::set<std::string>& used) {
  std::vector<std::string> extra;
  for (const auto& [name, tensor] : tensors) {
    if (!used.contains(name) && !IsIgnorable(source, name, tensor)) extra.push_back(name);
  }
  if (extra.empty()) return absl::OkStatus();
  // timm stores CLIP's projection as a head with a bias of zeros.
  if (extra[0] == "head.bias" && used.contains("head.weight")) {
    return RefusedForeign(extra[0], "must be zeros: CLIP's projection has no bias");
  }
  const std::string others = extra.size() == 1 ? "" : absl::StrCat(" (and ", extra.size() - 1, " more)");
  return RefusedForeign(extra[0], absl::StrCat("is in the file, but the model has no such tensor", others));
}

absl::StatusOr<TensorMap> RenameAll(ForeignSource source, const v1::ModelConfig& config,
                                    std::span<const NameRule> rules, const TensorMap& tensors) {
  ASSIGN_OR_RETURN(const ModelDescription model, ModelDescription::Make(config));
  std::map<std::string, Shape> wanted;
  for (const program::Weight& weight : model.program().weights()) wanted[weight.name] = weight.shape;

  TensorMap renamed;
  std::set<std::string> used;
  for (const Rename& rename : Expand(rules, config)) {
    const auto ours = wanted.find(rename.ours);
    if (ours == wanted.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the model has no tensor ", Quoted(rename.ours),
                                                     ", which this source's models have; its config is another form"));
    }
    std::vector<StoredTensor> foreign;
    for (const std::string& name : rename.foreign) {
      const Shape shape = ForeignShape(rename.reshape, ours->second, config);
      ASSIGN_OR_RETURN(StoredTensor tensor, Take(name, shape, source, tensors));
      foreign.push_back(std::move(tensor));
      used.insert(name);
    }
    renamed[rename.ours] = Reshaped(rename.reshape, foreign, ours->second);
    wanted.erase(ours);
  }
  if (!wanted.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has a tensor ", Quoted(wanted.begin()->first),
                                                   ", which this source's models lack; its config is another form"));
  }
  RETURN_IF_ERROR(CheckAllUsed(source, tensors, used));
  return renamed;
}

}  // namespace

absl::StatusOr<std::map<std::string, Shape>> ForeignShapes(ForeignSource source, const v1::ModelConfig& config,
                                                           const TensorMap& tensors) {
  ASSIGN_OR_RETURN(const ModelDescription model, ModelDescription::Make(config));
  std::map<std::string, Shape> ours, shapes;
  for (const program::Weight& weight : model.program().weights()) ours[weight.name] = weight.shape;
  for (const Rename& rename : Expand(NameRules(source, config, tensors), config)) {
    const auto found = ours.find(rename.ours);
    if (found == ours.end()) continue;
    for (const std::string& name : rename.foreign) shapes[name] = ForeignShape(rename.reshape, found->second, config);
  }
  return shapes;
}

absl::StatusOr<TensorMap> RenameForeign(ForeignSource source, const v1::ModelConfig& config, const TensorMap& tensors) {
  const std::vector<NameRule> rules = NameRules(source, config, tensors);
  if (rules.empty()) return absl::InvalidArgumentError("this source has no models of the config's family");
  absl::StatusOr<TensorMap> renamed = RenameAll(source, config, rules, tensors);
  if (absl::IsFailedPrecondition(renamed.status()) && !FitsBody(source, config, tensors)) {
    const std::string archs = absl::StrJoin(FittingArchs(source, tensors), " or ");
    if (archs.empty()) return renamed;
    return absl::FailedPreconditionError(
        absl::StrCat(renamed.status().message(), "; the tensors in the file have the shapes of --arch ", archs));
  }
  RETURN_IF_ERROR(renamed.status());
  RETURN_IF_ERROR(CheckFinite({tensors, {}}));
  return renamed;
}

absl::StatusOr<TensorMap> ForeignTensors(ForeignSource source, const v1::ModelConfig& config,
                                         const TensorMap& tensors) {
  const std::vector<NameRule> rules = NameRules(source, config, {});
  if (rules.empty()) return absl::InvalidArgumentError("this source has no models of the config's family");
  TensorMap foreign;
  for (const Rename& rename : Expand(rules, config)) {
    const auto ours = tensors.find(rename.ours);
    if (ours == tensors.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the model has no tensor ", Quoted(rename.ours),
                                                     ", which this source's models have; its config is another form"));
    }
    const Shape shape = ForeignShape(rename.reshape, ours->second.shape, config);
    for (size_t part = 0; part < rename.foreign.size(); ++part) {
      foreign[rename.foreign[part]] = Restored(rename.reshape, ours->second, shape, part);
    }
  }
  if (source == ForeignSource::kTimm && config.vit().projection() > 0) {  // timm adds a bias of zeros
    std::byte* bytes = nullptr;
    StoredTensor bias = MakeStored(foreign["head.weight"].dtype, {config.vit().projection()}, bytes);
    std::fill_n(bytes, bias.bytes(), std::byte{0});
    foreign["head.bias"] = std::move(bias);
  }
  return foreign;
}

}  // namespace vitrine
