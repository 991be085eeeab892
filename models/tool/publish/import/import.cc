// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/import.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/data/file.h"
#include "common/imaging/geometry.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/import/import.h"
#include "models/repository/labels.h"
#include "models/repository/stored_version.h"
#include "models/tool/publish/goldens.h"
#include "models/tool/publish/import/architecture.h"
#include "models/tool/publish/import/class_vectors.h"
#include "models/tool/publish/import/config_labels.h"
#include "models/tool/publish/import/label_text.h"
#include "models/tool/publish/import/model_files.h"
#include "models/tool/publish/import/pull.h"
#include "models/tool/publish/import/source_text.h"
#include "models/tool/publish/import/stated_licence.h"

namespace vitrine {
namespace {

std::string HeadBias(ForeignSource source, const v1::ModelConfig& config) {
  return absl::StrCat(HeadName(source, config), ".bias");
}

using Labels = std::vector<std::string>;

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

absl::StatusOr<Labels> ReadLabels(const std::string& path) {
  std::error_code error;
  constexpr uintmax_t kMost = 32 << 20;
  if (!std::filesystem::exists(path, error)) return absl::NotFoundError(absl::StrCat("--labels: no such file ", path));
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > kMost) {
    return absl::NotFoundError(absl::StrCat(path, ": not a file of labels"));
  }
  if (std::filesystem::path(path).extension() == ".json") {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
  if (!read->form.empty()) std::cerr << path << ": " << read->form << "\n";
  if (const auto checked = FormatLabels(read->labels); !checked.ok()) return Prefixed(path, checked.status());
  return std::move(read->labels);
}

constexpr char kImageNet[] =
#include "imagenet_1k.inc"
    ;

// Input of an import: weights that were read or downloaded, and the model's own labels.
struct Given {
  std::string weights;  // name of the weights in messages
  TensorMap tensors = {};
  std::map<std::string, std::string> metadata = {};  // metadata of the file or its shards
  Labels labels = {};                                // empty: no labels
  std::string labels_from = {};                      // name of the labels' source in messages
};

// Returns the number of classes of the head. Without a head, returns nullopt; RenameForeign then reports the missing
// head.
std::optional<int64_t> ClassesOf(const TensorMap& tensors, const std::string& head_bias) {
  const auto bias = tensors.find(head_bias);
  if (bias == tensors.end() || bias->second.shape.size() != 1) return std::nullopt;
  return bias->second.shape[0];
}

// Uses ImageNet-1k's labels if the model has no labels and the head has as many classes.
absl::Status TakeImageNet(const std::string& head_bias, Given& given) {
  ASSIGN_OR_RETURN(given.labels, ParseLabels(kImageNet));
  const auto size = static_cast<int64_t>(given.labels.size());
  const int64_t classes = ClassesOf(given.tensors, head_bias).value_or(size);
  if (classes == size) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      given.weights, " has ", classes, " classes (tensor \"", head_bias, "\"), not the ", size,
      " of ImageNet-1k, and its config.json has no labels; add label_names (timm) or id2label (transformers) "
      "to it, or give them in a file with --labels"));
}

// Checks the most common mismatch, with a clearer message than a wrong tensor shape gives.
absl::Status CheckLabels(const Given& given, const std::string& head_bias) {
  const auto labels = static_cast<int64_t>(given.labels.size());
  const int64_t classes = ClassesOf(given.tensors, head_bias).value_or(labels);
  if (classes == labels) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(given.labels_from, " has ", labels, " labels, but ", given.weights,
                                                    " has ", classes, " classes (tensor \"", head_bias,
                                                    "\"); --labels needs one label per line"));
}

// Sets the number of classes from the labels. A model without a head takes none.
absl::Status TakeClasses(const std::string& head_bias, Given& given, v1::ModelConfig& config) {
  if (config.classes() == 0) {
    given.labels.clear();
    return absl::OkStatus();
  }
  if (given.labels.empty()) RETURN_IF_ERROR(TakeImageNet(head_bias, given));
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

// Makes a cell as large as a patch. Position tables are interpolated to other grids; XCiT's encoding is a formula.
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
  if (options.norm_epsilon.has_value()) config.mutable_vit()->set_norm_epsilon(*options.norm_epsilon);
  if (!options.native.empty()) RETURN_IF_ERROR(MakeNative(options.native, config));
  return ValidatePreprocessing(preprocessing);
}

// Returns the command that repeats the import, without file paths.
std::string InWords(const ImportOptions& options) {
  std::string words = absl::StrCat("import --from ", options.source, " --arch ", options.arch);
  if (!options.mean.empty()) absl::StrAppend(&words, " --mean ", absl::StrJoin(options.mean, ","));
  if (!options.std.empty()) absl::StrAppend(&words, " --std ", absl::StrJoin(options.std, ","));
  if (!options.pull.empty()) absl::StrAppend(&words, " --pull ", options.pull);
  if (options.prefix.has_value()) absl::StrAppend(&words, " --prefix ", *options.prefix);
  if (options.crop.has_value()) absl::StrAppend(&words, " --crop ", *options.crop);
  if (!options.interpolation.empty()) absl::StrAppend(&words, " --interpolation ", options.interpolation);
  if (!options.rounding.empty()) absl::StrAppend(&words, " --rounding ", options.rounding);
  if (!options.fit.empty()) absl::StrAppend(&words, " --fit ", options.fit);
  if (!options.native.empty()) absl::StrAppend(&words, " --native ", options.native);
  if (options.logit_scale.has_value()) absl::StrAppend(&words, " --logit-scale ", *options.logit_scale);
  return words;
}

// Prints the prefixes that UnwrapForeign removed, because the version does not show them.
void TellUnwrapped(const UnwrappedWeights& weights, const std::string& file) {
  const auto quoted = [](std::string* text, const std::string& name) { absl::StrAppend(text, Quoted(name)); };
  if (!weights.prefix.empty()) {
    std::cerr << file << ": " << Quoted(weights.prefix) << " is removed from the names of tensors\n";
  }
  if (!weights.others.empty()) {
    std::cerr << file << ": the copy of the model with prefix " << Quoted(weights.prefix)
              << " is imported; --prefix chooses " << absl::StrJoin(weights.others, " or ", quoted) << "\n";
  } else if (!weights.outside.empty()) {
    constexpr size_t kShown = 3;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights.outside) names.push_back(name);
    const size_t more = names.size() - std::min(kShown, names.size());
    names.resize(names.size() - more);
    std::cerr << file << ": tensors outside the model are ignored: " << absl::StrJoin(names, ", ", quoted)
              << (more > 0 ? absl::StrCat(" and ", more, " more") : "") << "\n";
  }
}

// Removes the prefixes and wrappers that training added to tensor names, and finds the head.
absl::Status Unwrap(const ImportOptions& options, ForeignSource source, v1::ModelConfig& config, Given& given) {
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
  TellUnwrapped(*weights, given.weights);
  if (!head.ok()) return Prefixed(given.weights, head.status());
  if (!head->empty()) {
    std::cerr << given.weights << ": the layer " << Quoted(*head) << " is used as the classifier, "
              << Quoted(HeadName(source, config)) << "\n";
  }
  given.tensors = std::move(weights->tensors);
  return absl::OkStatus();
}

absl::StatusOr<Draft> MakeDraft(const ImportOptions& options, Given given) {
  ASSIGN_OR_RETURN(const ForeignSource source, ForeignSourceNamed(options.source));
  Draft draft;
  ASSIGN_OR_RETURN(v1::ModelConfig config, ForeignConfig(source, options.arch, /*classes=*/1));
  RETURN_IF_ERROR(CheckTakesVectors(options, config));
  RETURN_IF_ERROR(Unwrap(options, source, config, given));
  // timm adds a head to DINOv2 for other classes.
  const bool adds_head = source == ForeignSource::kTimm && config.vit().projection() == 0;
  if (adds_head && given.tensors.contains("head.weight")) config.set_classes(1);
  if (config.classes() == 0 && !options.labels.empty() && options.zero_shot.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("--labels: ", options.arch,
                     " has no classes; `vitrine-repo head` makes a head from pictures, and "
                     "--zero-shot one from CLIP's vectors of texts"));
  }
  if (options.zero_shot.empty()) RETURN_IF_ERROR(TakeClasses(HeadBias(source, config), given, config));
  RETURN_IF_ERROR(Override(options, config));
  ASSIGN_OR_RETURN(draft.weights.tensors, RenameForeign(source, config, given.tensors));
  std::string head;
  if (!options.zero_shot.empty()) {
    ASSIGN_OR_RETURN(head, AddCosineHead(options, given.labels.size(), given.tensors, config, draft.weights.tensors));
  }
  draft.labels = std::move(given.labels);
  given.tensors.clear();
  ASSIGN_OR_RETURN(WeightedModel model, WithWeights(config, std::move(draft.weights)));
  draft.weights = AsStored(model, options.bf16);
  v1::Provenance& provenance = *draft.manifest.mutable_provenance();
  provenance.set_recipe(InWords(options));
  provenance.set_data(absl::StrCat("trained elsewhere: ", options.source, "'s ", options.arch, head));
  provenance.set_created_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  RETURN_IF_ERROR(AddModel(options.model, model, draft));
  return draft;
}

// Sets the architecture and preprocessing that the command line leaves open, and prints where it comes from.
absl::Status Prepare(const std::vector<ModelFile>& files, ImportOptions& options) {
  RETURN_IF_ERROR(TakeArchitecture(files, options));
  ASSIGN_OR_RETURN(const std::vector<std::string> taken, TakePreprocessing(files, options));
  for (const std::string& sentence : taken) std::cerr << sentence << "\n";
  return absl::OkStatus();
}

// Returns the SHA-256 of the output of sha256sum for these files.
absl::StatusOr<std::string> DigestOf(const std::vector<std::filesystem::path>& files) {
  constexpr int64_t kPiece = 1 << 20;
  std::string lines;
  for (const std::filesystem::path& path : files) {
    ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(path));
    Sha256Stream digest;
    for (int64_t at = 0; at < file.size(); at += kPiece) {
      ASSIGN_OR_RETURN(const std::string piece, file.ReadAt(at, std::min(kPiece, file.size() - at)));
      digest.Update(piece);
    }
    absl::StrAppend(&lines, digest.Hex(), "  ", path.filename().string(), "\n");
  }
  return Sha256Hex(lines);
}

// Returns local files as a pull does. Computes their digest only if it is compared with that of an earlier import.
absl::StatusOr<Pulled> LocalFiles(const ImportOptions& options) {
  constexpr int64_t kMostBytes = 4 << 20;
  const std::filesystem::path weights = options.weights;
  const std::filesystem::path folder = IsFolder(weights) ? weights : weights.parent_path();
  Pulled local;
  local.origin.set_licence(LicenceOfCard(ReadWholeFile(folder / "README.md", kMostBytes).value_or("")));
  ASSIGN_OR_RETURN(local.weights, ForeignFiles(weights));
  if (options.known.has_value()) {
    ASSIGN_OR_RETURN(*local.origin.mutable_sha256(), DigestOf(local.weights));
  }
  return local;
}

// Takes the labels given on the command line, else those in the model's files, if there are any.
absl::Status TakeLabels(const ImportOptions& options, const std::vector<ModelFile>& files, Given& given) {
  if (!options.labels.empty()) {
    given.labels_from = options.labels;
    ASSIGN_OR_RETURN(given.labels, ReadLabels(options.labels));
  }
  for (const ModelFile& file : files) {
    if (!given.labels.empty()) break;
    given.labels_from = file.name;
    const absl::StatusOr<Labels> labels = LabelsOfConfig(file.json);
    if (!labels.ok()) {
      return Prefixed(file.name, absl::FailedPreconditionError(absl::StrCat(
                                     labels.status().message(), "; give the labels in a file with --labels")));
    }
    given.labels = *labels;
  }
  return absl::OkStatus();
}

// Returns the licence stated by the model card, a JSON file or the metadata of the weights; empty if none states it.
std::string LicenceToPublish(const v1::Origin& origin, const std::vector<ModelFile>& files, const Given& given) {
  std::string licence = origin.licence();
  for (const ModelFile& file : files) {
    if (licence.empty()) licence = LicenceOfConfig(file.json);
  }
  return licence.empty() ? LicenceOfMetadata(given.metadata) : licence;
}

// Checks architecture and name before any download.
absl::Status CheckBefore(const ImportOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model));
  if (options.source.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ForeignSource source, ForeignSourceNamed(options.source));
  return options.arch.empty() ? absl::OkStatus() : ForeignConfig(source, options.arch, /*classes=*/1).status();
}

}  // namespace

std::string FaultOfTokens(const std::string& text) {
  return std::string(ParseTokens(text).status().message());
}

absl::StatusOr<Imported> Import(const ImportOptions& asked) {
  RETURN_IF_ERROR(CheckBefore(asked));
  ImportOptions options = asked;
  std::vector<ModelFile> files = FilesOfModel(options);
  std::string source;
  const auto accept = [&](const std::vector<ModelFile>& pulled, const v1::Origin& origin) {
    files.insert(files.begin(), pulled.begin(), pulled.end());
    source = SourceText(files, origin);
    if (options.known == source) return absl::AlreadyExistsError(source);
    return Prepare(files, options);
  };
  Given given{.weights = options.pull.empty() ? options.weights : options.pull};
  Pulled found;
  if (options.pull.empty()) {
    ASSIGN_OR_RETURN(found, LocalFiles(options));
    RETURN_IF_ERROR(accept({}, found.origin));
  } else {
    if (IsOfCommit(options.known.value_or(""), options.pull)) return absl::AlreadyExistsError(*options.known);
    ASSIGN_OR_RETURN(
        found, Pull({.model = options.pull,
                     .sha256 = options.sha256,
                     .base = options.pull_from.empty() ? DefaultPullFrom() : options.pull_from,
                     .cache = options.pull_cache.empty() ? PullCache() : std::filesystem::path(options.pull_cache),
                     .accept = accept}));
  }
  RETURN_IF_ERROR(TakeLabels(options, files, given));
  ASSIGN_OR_RETURN(given.tensors, ReadForeignWeights(found.weights, &given.metadata));
  if (options.licence.empty()) options.licence = LicenceToPublish(found.origin, files, given);
  ASSIGN_OR_RETURN(Draft draft, MakeDraft(options, std::move(given)));
  if (options.known.has_value()) draft.extra_files[kSourceFile] = source;
  v1::Provenance& provenance = *draft.manifest.mutable_provenance();
  provenance.set_licence(options.licence);
  if (!options.pull.empty()) *provenance.mutable_origin() = found.origin;
  ASSIGN_OR_RETURN(const VersionId published, Publish(options.repository, options.model, draft));
  return Imported{.version = published,
                  .manifest = std::move(draft.manifest),
                  .classes = draft.labels.size(),
                  .source = options.source,
                  .arch = options.arch};
}

absl::Status ImportCommand(const ImportOptions& asked) {
  ASSIGN_OR_RETURN(const Imported made, Import(asked));
  const std::string& licence = made.manifest.provenance().licence();
  std::cout << made.version.model << "/" << made.version.version << " in " << asked.repository << ": " << made.source
            << "'s " << made.arch << ", " << made.manifest.parameters() << " parameters, " << made.classes
            << " classes, licence " << (licence.empty() ? "not stated (--licence states one)" : licence)
            << "; `vitrine-repo verify " << asked.repository << " " << made.version.model << "@" << made.version.version
            << "` checks it\n";
  return absl::OkStatus();
}

}  // namespace vitrine
