// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/head/head.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/charts/html/data_table.h"
#include "common/charts/progress_display.h"
#include "common/data/dataset.h"
#include "common/data/digest.h"
#include "common/data/parallel.h"
#include "common/data/tolerant.h"
#include "common/drawing/licence_words.h"
#include "common/machine/machine.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"
#include "models/repository/labels.h"
#include "models/repository/manifest.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "models/tool/publish/forward.h"
#include "models/tool/publish/goldens.h"
#include "models/tool/publish/head/linear_head.h"
#include "models/tool/publish/image.h"

namespace vitrine {
namespace {

// The linear layer that computes a model's logits.
struct HeadLayer {
  std::string weight, bias;  // names of the tensors
  int64_t inputs = 0;
};

absl::StatusOr<HeadLayer> FindHead(const program::Program& program) {
  for (const program::Operator& op : program.operators()) {
    const auto* const linear = op.As<program::Linear>();
    if (!(op.output == program.logits()) || linear == nullptr || !linear->bias || linear->code >= 0) continue;
    const auto name = [&](size_t place) { return program.weights()[static_cast<size_t>(op.weights[place])].name; };
    return HeadLayer{.weight = name(0), .bias = name(1), .inputs = linear->inputs};
  }
  return absl::FailedPreconditionError(
      "its logits are not those of one linear layer, which alone can be replaced; start from a version with a class "
      "token and one head, as an import without --zero-shot, or fine-tune this one with `vitrine-train run finetune`");
}

// Returns the weights with an fp32 head; the other weights keep their stored types.
Safetensors WithHead(Safetensors weights, const HeadLayer& layer, std::vector<float> weight, std::vector<float> bias) {
  const auto classes = static_cast<int64_t>(bias.size());
  weights.tensors[layer.weight] = StoredOf({.shape = {classes, layer.inputs}, .values = std::move(weight)});
  weights.tensors[layer.bias] = StoredOf({.shape = {classes}, .values = std::move(bias)});
  return weights;
}

// Returns the model with an identity head, so that its logits are the inputs of the head.
absl::StatusOr<WeightedModel> FeatureModel(v1::ModelConfig config, const HeadLayer& layer, Safetensors weights) {
  const auto width = static_cast<size_t>(layer.inputs);
  config.set_classes(static_cast<int>(width));
  std::vector<float> identity(width * width);
  for (size_t i = 0; i < width; ++i) identity[i * (width + 1)] = 1;
  return WithWeights(config, WithHead(std::move(weights), layer, std::move(identity), std::vector<float>(width)));
}

absl::StatusOr<std::unique_ptr<Dataset>> OpenLabelled(const std::string& spec) {
  ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, OpenDataset(spec, Split::kTrain));
  for (const std::string& remark : data->remarks()) std::cerr << "vitrine-repo: " << EscapedText(remark) << "\n";
  if (const auto checked = FormatLabels(data->labels()); !checked.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("--data: ", checked.status().message()));
  }
  const std::vector<int64_t> images = ImagesPerClass(*data);
  if (images.size() < 2) {
    return absl::FailedPreconditionError("--data has fewer than two classes; give each class a folder of images");
  }
  const auto fewest = std::min_element(images.begin(), images.end());
  if (*fewest >= 2) return data;
  return absl::FailedPreconditionError(absl::StrCat(
      "--data has ", *fewest, *fewest == 1 ? " image" : " images", " of class \"",
      EscapedText(data->labels()[static_cast<size_t>(fewest - images.begin())]), "\"; each class needs at least 2"));
}

// Computes the features of all images. After the first corrupt image, only decodes the remaining images, to list all
// corrupt images.
absl::StatusOr<LabelledFeatures> FeaturesOf(const Dataset& data, const WeightedModel& model) {
  constexpr int64_t kBatch = 64;  // images in memory at once
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  ASSIGN_OR_RETURN(const Forward forward, EngineForward(model, path));
  LabelledFeatures features = {.width = static_cast<int>(model.description.outputs()),
                               .classes = static_cast<int>(data.labels().size())};
  features.values.reserve(static_cast<size_t>(data.size() * features.width));
  ProgressDisplay display(std::cerr, {.is_terminal = isatty(STDERR_FILENO) != 0, .plain_lines = absl::Seconds(10)});
  CorruptImages corrupt;
  for (int64_t first = 0; first < data.size(); first += kBatch) {
    const int64_t count = std::min(kBatch, data.size() - first), done = first + count;
    std::vector<absl::StatusOr<FloatArray>> decoded(static_cast<size_t>(count));
    const auto decode = [&](int64_t i) {
      auto& input = decoded[static_cast<size_t>(i)];
      input = InputOf(data, first + i, model.description.config().preprocessing());
      return input.ok() || CorruptImages::IsCorrupt(input.status()) ? absl::OkStatus() : input.status();
    };
    RETURN_IF_ERROR(ParallelFor(count, FindMachine().Threads(), decode));
    std::vector<FloatArray> inputs;
    for (int64_t i = 0; i < count; ++i) {
      features.labels.push_back(data.label(first + i));
      auto& input = decoded[static_cast<size_t>(i)];
      if (!input.ok()) corrupt.Add(input.status());
      if (input.ok()) inputs.push_back(*std::move(input));
    }
    if (corrupt.reasons().empty()) {
      ASSIGN_OR_RETURN(const FloatArray vectors, forward(inputs));
      features.values.insert(features.values.end(), vectors.values.begin(), vectors.values.end());
    }
    display.Update(static_cast<double>(done) / static_cast<double>(data.size()),
                   absl::StrCat("features: ", WithSeparators(done), " of ", WithSeparators(data.size()), " images"),
                   absl::Now());
  }
  RETURN_IF_ERROR(corrupt.Judge(std::nullopt));
  return features;
}

absl::StatusOr<v1::Provenance> ProvenanceOf(const HeadOptions& options, const LinearHead& head, const Dataset& data,
                                            const StoredVersion& from) {
  v1::Provenance provenance;
  provenance.set_recipe(absl::StrCat("head --kind ", options.kind));
  if (options.kind == "probe") absl::StrAppend(provenance.mutable_recipe(), " --alpha ", head.alpha);
  const std::vector<int64_t> images = ImagesPerClass(data);
  const auto [fewest, most] = std::minmax_element(images.begin(), images.end());
  provenance.set_data(absl::StrCat(DataInWords(options.data, "train", data.size()), ", ", *fewest,
                                   *fewest == *most ? "" : absl::StrCat(" to ", *most), " in each of ", images.size(),
                                   " classes"));
  ASSIGN_OR_RETURN(*provenance.mutable_data_digest(), ContentDigestOf(data, FindMachine().Threads()));
  provenance.set_images_seen(data.size());
  provenance.set_epochs(1);
  provenance.set_started_from(absl::StrCat(from.manifest.model(), "/", from.manifest.version()));
  provenance.set_continued_from(from.weights_sha256);
  provenance.set_licence(LicenceOf(from.manifest.provenance()));
  provenance.set_created_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  v1::Metric& metric = *provenance.add_metrics();
  metric.set_name("top1");
  metric.set_split("train, leave-one-out");
  metric.set_value(static_cast<double>(head.correct) / static_cast<double>(data.size()));
  metric.set_images(data.size());
  return provenance;
}

// Returns the digest of a version's labels; "" if the manifest cannot be read or lists no labels.
std::string LabelsDigest(const std::string& repository, const VersionId& id) {
  const absl::StatusOr<v1::Manifest> manifest = ReadManifest(repository, id);
  if (!manifest.ok()) return "";
  const auto file = std::ranges::find(manifest->files(), kLabelsFile, &v1::FileDigest::name);
  return file == manifest->files().end() ? "" : file->sha256();
}

// Prints the result. `before` is the newest earlier version of the model, or an error if there was none.
void Print(const HeadOptions& options, const Draft& draft, const VersionId& published,
           const absl::StatusOr<VersionId>& before) {
  const v1::Provenance& provenance = draft.manifest.provenance();
  const v1::Metric& metric = provenance.metrics(0);
  std::cout << absl::StreamFormat("top-1 %.2f %% of %d images, each left out of its own head\n", 100 * metric.value(),
                                  metric.images());
  std::cout << published.model << "/" << published.version << " in " << options.repository << ": "
            << provenance.started_from() << " with a head for " << draft.labels.size() << " classes, "
            << provenance.recipe() << "; `vitrine-repo verify " << options.repository << " " << published.model << "@"
            << published.version << "` checks it\n";
  if (before.ok() && LabelsDigest(options.repository, *before) != LabelsDigest(options.repository, published)) {
    std::cout << "its classes are not those of " << before->model << "/" << before->version
              << ", so servers keep the version that they serve until they restart, or until `vitrine admin label "
              << published.model << "@" << published.version << " stable`\n";
  }
}

}  // namespace

absl::Status HeadCommand(const HeadOptions& options) {
  ASSIGN_OR_RETURN(const VersionId id, FindOneVersion(options.repository, options.which));
  ASSIGN_OR_RETURN(StoredVersion from, ReadVersion(options.repository, id));
  RETURN_IF_ERROR(FitStored(from.manifest, from.weights).status());
  v1::ModelConfig config = from.manifest.config();
  config.set_classes(std::max(config.classes(), 1));  // a model without classes has no head
  ASSIGN_OR_RETURN(const ModelDescription described, ModelDescription::Make(config));
  const absl::StatusOr<HeadLayer> layer = FindHead(described.program());
  if (!layer.ok()) {
    return absl::Status(layer.status().code(), absl::StrCat(id.model, "/", id.version, ": ", layer.status().message()));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, OpenLabelled(options.data));
  const std::string& name = options.name.empty() ? id.model : options.name;
  int64_t bytes = 0;
  for (const v1::FileDigest& file : from.manifest.files()) bytes += file.bytes();
  RETURN_IF_ERROR(CheckPublishable(options.repository, name, bytes));

  ASSIGN_OR_RETURN(const WeightedModel body, FeatureModel(config, *layer, from.weights));
  ASSIGN_OR_RETURN(LabelledFeatures features, FeaturesOf(*data, body));
  ASSIGN_OR_RETURN(const LinearHead head, options.kind == "prototypes" ? FitPrototypes(std::move(features))
                                                                       : FitProbe(std::move(features), options.alpha));
  Draft draft;
  draft.labels = data->labels();
  draft.weights = WithHead(std::move(from.weights), *layer, {head.weight.begin(), head.weight.end()},
                           {head.bias.begin(), head.bias.end()});
  ASSIGN_OR_RETURN(*draft.manifest.mutable_provenance(), ProvenanceOf(options, head, *data, from));
  config.set_classes(static_cast<int>(draft.labels.size()));
  ASSIGN_OR_RETURN(const WeightedModel model, WithWeights(config, draft.weights));
  RETURN_IF_ERROR(AddModel(name, model, draft));
  const absl::StatusOr<VersionId> before = FindOneVersion(options.repository, name);
  ASSIGN_OR_RETURN(const VersionId published, Publish(options.repository, name, draft));
  Print(options, draft, published, before);
  return absl::OkStatus();
}

}  // namespace vitrine
