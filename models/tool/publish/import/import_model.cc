// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/import_model.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/file.h"
#include "common/imaging/geometry.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/labels.h"
#include "models/tool/publish/import/class_vectors.h"
#include "models/tool/publish/import/config_labels.h"
#include "models/tool/publish/import/label_text.h"

namespace vitrine {
namespace {

std::string HeadBias(ForeignSource source, const v1::ModelConfig& config) {
  return absl::StrCat(HeadName(source, config), ".bias");
}

using Labels = std::vector<std::string>;

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

absl::StatusOr<Labels> ReadLabels(const std::string& path, std::ostream& notes) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::NotFoundError(absl::StrCat("--labels: no such file ", path));
  if (std::filesystem::path(path).extension() == ".json") {
    ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, 32 << 20));
    const absl::StatusOr<Labels> labels = LabelsOfConfig(text);
    if (!labels.ok()) return Prefixed(path, labels.status());
    if (labels->empty()) {
      return absl::FailedPreconditionError(absl::StrCat(path, ": has no labels (label_names, id2label)"));
    }
    return labels;
  }
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  absl::StatusOr<LabelText> read = ParseLabelText(text);
  if (!read.ok()) return Prefixed(path, read.status());
  if (!read->form.empty()) notes << path << ": " << read->form << "\n";
  if (const auto checked = FormatLabels(read->labels); !checked.ok()) return Prefixed(path, checked.status());
  return std::move(read->labels);
}

constexpr char kImageNet[] =
#include "imagenet_1k.inc"
    ;

// Returns the number of classes of the head. Without a head, returns nullopt; RenameForeign then reports the missing
// head.
std::optional<int64_t> ClassesOf(const TensorMap& tensors, const std::string& head_bias) {
  const auto bias = tensors.find(head_bias);
  if (bias == tensors.end() || bias->second.shape.size() != 1) return std::nullopt;
  return bias->second.shape[0];
}

// Sets the labels to ImageNet-1k's. FAILED_PRECONDITION if the head has another number of classes.
absl::Status TakeImageNet(const std::string& head_bias, ImportInput& given) {
  ASSIGN_OR_RETURN(given.labels, ParseLabels(kImageNet));
  const auto size = static_cast<int64_t>(given.labels.size());
  const int64_t classes = ClassesOf(given.tensors, head_bias).value_or(size);
  if (classes == size) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      given.weights, " has ", classes, " classes (tensor \"", head_bias, "\"), not the ", size,
      " of ImageNet-1k, and its config.json has no labels; add label_names (timm) or id2label (transformers) "
      "to it, or give them in a file with --labels"));
}

// Checks that there are as many labels as classes. The message is clearer than the later error about a tensor's shape.
absl::Status CheckLabels(const ImportInput& given, const std::string& head_bias) {
  const auto labels = static_cast<int64_t>(given.labels.size());
  const int64_t classes = ClassesOf(given.tensors, head_bias).value_or(labels);
  if (classes == labels) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(given.labels_from, " has ", labels, " labels, but ", given.weights,
                                                    " has ", classes, " classes (tensor \"", head_bias,
                                                    "\"); --labels needs one label per line"));
}

// Sets the number of classes from the labels. For a model without a head, removes the labels.
absl::Status TakeClasses(const std::string& head_bias, ImportInput& given, v1::ModelConfig& config) {
  if (config.classes() == 0) {
    given.labels.clear();
    return absl::OkStatus();
  }
  if (given.labels.empty()) {
    RETURN_IF_ERROR(TakeImageNet(head_bias, given));
    *given.notes << given.weights
                 << ": the labels are those of ImageNet-1k, because neither --labels nor a config.json "
                 << "gives any\n";
  }
  config.set_classes(static_cast<int>(given.labels.size()));
  return CheckLabels(given, head_bias);
}

// Parses "36-1024": two integers, the first at least 1, the second at least the first.
absl::StatusOr<std::pair<int, int>> ParseTokens(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::pair<int, int> tokens;
  const auto [dash, first] = std::from_chars(text.data(), end, tokens.first);
  if (first == std::errc() && dash != end && *dash == '-') {
    const auto [last, second] = std::from_chars(dash + 1, end, tokens.second);
    if (second == std::errc() && last == end && tokens.first >= 1 && tokens.second >= tokens.first) return tokens;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", std::string(text), "\" is not a range of patches, as in --native 36-1024"));
}

// Sets native resolution, with the patch size as `cell` (see NativeResolution in model.proto). The weights need no
// change, because position tables are interpolated to other grids, and XCiT computes its positions.
absl::Status MakeNative(const std::string& range, v1::ModelConfig& config) {
  ASSIGN_OR_RETURN(const auto tokens, ParseTokens(range));
  v1::NativeResolution& native = *config.mutable_preprocessing()->mutable_native();
  native.set_cell(config.has_xcit() ? config.xcit().patch() : config.vit().patch());
  native.set_min_tokens(tokens.first);
  native.set_max_tokens(tokens.second);
  return absl::OkStatus();
}

absl::Status Override(const ImportOptions& options, v1::ModelConfig& config) {
  v1::Preprocessing& preprocessing = *config.mutable_preprocessing();
  v1::FixedResolution& fixed = *preprocessing.mutable_fixed();
  if (!options.mean.empty()) preprocessing.mutable_mean()->Assign(options.mean.begin(), options.mean.end());
  if (!options.std.empty()) preprocessing.mutable_std()->Assign(options.std.begin(), options.std.end());
  if (!options.interpolation.empty()) {
    preprocessing.set_interpolation(options.interpolation == "bilinear" ? v1::BILINEAR : v1::BICUBIC);
  }
  if (options.rounding == "none") preprocessing.clear_rounding();
  if (!options.fit.empty()) {
    fixed.set_fit(options.fit == "stretch" ? v1::FixedResolution::STRETCH : v1::FixedResolution::CENTER_CROP);
    if (options.fit == "stretch") fixed.clear_crop();
  }
  if (options.crop.has_value()) fixed.set_crop(*options.crop == 1 ? 0 : *options.crop);
  if (fixed.crop() != 0 && fixed.fit() != v1::FixedResolution::CENTER_CROP) {
    return absl::InvalidArgumentError("--crop needs --fit crop, because the model stretches images");
  }
  if (options.norm_epsilon.has_value()) config.mutable_vit()->set_norm_epsilon(*options.norm_epsilon);
  if (!options.native.empty()) RETURN_IF_ERROR(MakeNative(options.native, config));
  return ValidatePreprocessing(preprocessing);
}

// Prints what UnwrapForeign left out: the prefix of tensor names, other copies of the model, or tensors outside the
// model. The published version does not record this.
void TellUnwrapped(const UnwrappedWeights& weights, const std::string& file, std::ostream& notes) {
  const auto quoted = [](std::string* text, const std::string& name) { absl::StrAppend(text, Quoted(name)); };
  if (!weights.prefix.empty()) {
    notes << file << ": " << Quoted(weights.prefix) << " is removed from the names of tensors\n";
  }
  if (!weights.others.empty()) {
    notes << file << ": the copy of the model with prefix " << Quoted(weights.prefix)
          << " is imported; --prefix chooses " << absl::StrJoin(weights.others, " or ", quoted) << "\n";
  } else if (!weights.outside.empty()) {
    constexpr size_t kShown = 3;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights.outside) names.push_back(name);
    const size_t more = names.size() - std::min(kShown, names.size());
    names.resize(names.size() - more);
    notes << file << ": tensors outside the model are ignored: " << absl::StrJoin(names, ", ", quoted)
          << (more > 0 ? absl::StrCat(" and ", more, " more") : "") << "\n";
  }
}

// Removes the prefixes and wrappers that training added to tensor names, and finds the head.
absl::Status Unwrap(const ImportOptions& options, ForeignSource source, v1::ModelConfig& config, ImportInput& given) {
  absl::StatusOr<UnwrappedWeights> weights = UnwrapForeign(std::move(given.tensors), options.prefix);
  if (!weights.ok()) return Prefixed(given.weights, weights.status());
  if (options.labels.empty() && LacksHead(source, config, *weights)) config.set_classes(0);
  if (config.classes() == 0 && weights->outside.contains("classifier.weight")) {
    return absl::FailedPreconditionError(
        absl::StrCat(given.weights,
                     ": the classifier of a Dinov2ForImageClassification, which also reads the mean of the "
                     "patches, is not supported; save its Dinov2Model, and make a head with `vitrine-repo head`"));
  }
  const absl::StatusOr<std::string> head = AdoptHead(source, config, *weights);
  TellUnwrapped(*weights, given.weights, *given.notes);
  if (!head.ok()) return Prefixed(given.weights, head.status());
  if (!head->empty()) {
    *given.notes << given.weights << ": the layer " << Quoted(*head) << " is used as the classifier, "
                 << Quoted(HeadName(source, config)) << "\n";
  }
  given.tensors = std::move(weights->tensors);
  return absl::OkStatus();
}

}  // namespace

std::string FaultOfTokens(const std::string& text) {
  return std::string(ParseTokens(text).status().message());
}

absl::Status TakeLabels(const ImportOptions& options, const std::vector<ModelFile>& files, ImportInput& given) {
  if (!options.labels.empty()) {
    given.labels_from = options.labels;
    ASSIGN_OR_RETURN(given.labels, ReadLabels(options.labels, *given.notes));
  }
  for (const ModelFile& file : files) {
    if (!given.labels.empty()) break;
    given.labels_from = file.name;
    const absl::StatusOr<Labels> labels = LabelsOfConfig(file.json);
    if (!labels.ok()) {
      return Prefixed(file.name, absl::FailedPreconditionError(absl::StrCat(
                                     labels.status().message(), "; give the labels in a file with --labels")));
    }
    if (labels->empty()) continue;
    if (const auto checked = FormatLabels(*labels); !checked.ok()) return Prefixed(file.name, checked.status());
    given.labels = *labels;
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ModelConfig> TakeModel(const ImportOptions& options, ImportInput& given) {
  ASSIGN_OR_RETURN(const ForeignSource source, ForeignSourceNamed(options.source));
  ASSIGN_OR_RETURN(v1::ModelConfig config, ForeignConfig(source, options.arch, /*classes=*/1));
  RETURN_IF_ERROR(CheckTakesVectors(options, config));
  RETURN_IF_ERROR(Unwrap(options, source, config, given));
  if (MayAddHead(source, config) && given.tensors.contains("head.weight")) config.set_classes(1);
  if (config.classes() == 0 && !options.labels.empty() && options.zero_shot.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--labels: ", options.arch,
                     " has no classes; `vitrine-repo head` makes a head from pictures, and "
                     "--zero-shot one from CLIP's vectors of texts"));
  }
  if (options.zero_shot.empty()) RETURN_IF_ERROR(TakeClasses(HeadBias(source, config), given, config));
  RETURN_IF_ERROR(Override(options, config));
  return config;
}

}  // namespace vitrine
