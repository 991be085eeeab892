// SPDX-License-Identifier: Apache-2.0
#include "trainer/publish.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "imaging/decode.h"
#include "imaging/preprocess.h"
#include "report/png.h"
#include "repository/checkpoint.h"
#include "repository/names.h"
#include "trainer/recipe.h"
#include "trainer/tasks/start.h"

namespace vitrine {
namespace {

// Allowed differences between machines, relative to the largest logit: fp32 sums in another order, other kernels, or on
// a GPU; bf16 has 8 bits of mantissa and passes through every layer.
struct Tolerance {
  const char* device;
  const char* precision;
  float value;
};
constexpr Tolerance kTolerances[] = {
    {"cpu", "fp32", 1e-4f}, {"cuda", "fp32", 1e-3f}, {"cpu", "bf16", 5e-2f}, {"cuda", "bf16", 5e-2f}};

at::Tensor ToTensor(const std::vector<float>& values, int channels, Size size) {
  at::Tensor tensor = at::empty({channels, size.height, size.width}, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<float>());
  return tensor;
}

at::Tensor ToBytes(const std::string& bytes) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

absl::StatusOr<at::Tensor> PictureToTensor(std::string_view bytes, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(const Image picture, Decode(bytes));
  ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, {picture.height, picture.width}));
  return ToTensor(Preprocess(picture, preprocessing, geometry), preprocessing.channels(), geometry.input);
}

// Sizes that the card reports; none stands for each picture's own.
absl::StatusOr<std::vector<std::optional<Size>>> EvaluationSizes(const v1::Recipe& recipe) {
  std::vector<std::optional<Size>> sizes;
  for (const std::string& text : recipe.evaluation_sizes()) {
    ASSIGN_OR_RETURN(const Size size, ParseSize(text));
    sizes.push_back(size);
  }
  if (sizes.empty()) sizes.push_back(std::nullopt);
  return sizes;
}

// Six pictures side by side and above each other, so that the golden passes through the resize as well.
absl::StatusOr<Image> Mosaic(const Dataset& data) {
  constexpr int kColumns = 3, kRows = 2;
  ASSIGN_OR_RETURN(const Image first, data.image(0));
  Image mosaic{
      .width = first.width * kColumns, .height = first.height * kRows, .channels = first.channels, .pixels = {}};
  mosaic.pixels.resize(size_t(mosaic.width) * mosaic.height * mosaic.channels);
  const size_t row_bytes = size_t(first.width) * first.channels;
  for (int tile = 0; tile < kColumns * kRows; ++tile) {
    ASSIGN_OR_RETURN(const Image picture, data.image(tile * 7919 % data.size()));
    // A set of mixed sizes repeats its first picture instead.
    const bool fits =
        picture.width == first.width && picture.height == first.height && picture.channels == first.channels;
    const Image& source = fits ? picture : first;
    for (int y = 0; y < first.height; ++y) {
      const size_t to_row = size_t(tile / kColumns) * first.height + y;
      std::copy_n(&source.pixels[y * row_bytes], row_bytes,
                  &mosaic.pixels[(to_row * kColumns + tile % kColumns) * row_bytes]);
    }
  }
  return mosaic;
}

std::string SplitInWords(absl::string_view split, const v1::Preprocessing& preprocessing, std::optional<Size> size) {
  if (!size && preprocessing.has_fixed()) size = {preprocessing.fixed().height(), preprocessing.fixed().width()};
  return size ? absl::StrCat(split, " ", ToString(*size)) : std::string(split);
}

absl::StatusOr<Safetensors> MakeGoldens(const v1::Recipe& recipe, const Model& model, const Dataset& test) {
  const v1::Preprocessing& preprocessing = model.config().preprocessing();
  Safetensors golden;
  int next = 0;
  ASSIGN_OR_RETURN(const auto sizes, EvaluationSizes(recipe));
  for (const std::optional<Size>& size : sizes) {
    // Two pictures of different classes where the set is sorted by class.
    for (const int64_t index : {test.size() / 7, test.size() * 5 / 7}) {
      ASSIGN_OR_RETURN(const Image picture, test.image(index));
      ASSIGN_OR_RETURN(const Geometry geometry, PlanEvaluation(preprocessing, {picture.height, picture.width}, size));
      golden.tensors[absl::StrCat("input.", next++)] =
          ToTensor(Preprocess(picture, preprocessing, geometry), preprocessing.channels(), geometry.input);
    }
  }
  ASSIGN_OR_RETURN(const std::string file, test.encoded(test.size() / 3));
  golden.tensors[absl::StrCat("picture.", next++)] = ToBytes(file);
  ASSIGN_OR_RETURN(const Image mosaic, Mosaic(test));
  ASSIGN_OR_RETURN(const std::string png, EncodePng(mosaic));
  golden.tensors[absl::StrCat("picture.", next++)] = ToBytes(png);
  RETURN_IF_ERROR(RecordGolden(model, PictureToTensor, golden));
  return golden;
}

std::string NameOf(const StoredVersion& version) {
  return absl::StrCat(version.manifest.model(), "/", version.manifest.version());
}

// Where the weights started and who taught them. What led to a version that was only continued counts as ours.
absl::Status AddAncestors(const v1::Recipe& recipe, const Model& model, v1::Provenance& provenance) {
  if (!recipe.start().version().empty()) {
    ASSIGN_OR_RETURN(const StoredVersion start, ReadVersionAt(recipe.start().version()));
    const v1::Provenance& before = start.manifest.provenance();
    provenance.set_started_from(NameOf(start));
    provenance.set_continued_from(start.weights_sha256);
    if (!recipe.start().replace_head() && start.manifest.config().classes() == model.config().classes() &&
        before.data_digest() == provenance.data_digest()) {
      provenance.set_continues(true);
      provenance.set_epochs(provenance.epochs() + before.epochs());
      provenance.set_images_seen(provenance.images_seen() + before.images_seen());
      provenance.set_train_seconds(provenance.train_seconds() + before.train_seconds());
    }
  }
  if (!recipe.distillation().teacher().empty()) {
    ASSIGN_OR_RETURN(const StoredVersion teacher, ReadVersionAt(recipe.distillation().teacher()));
    provenance.set_teacher(NameOf(teacher));
    provenance.set_teacher_digest(teacher.weights_sha256);
  }
  return absl::OkStatus();
}

absl::Status PinVersion(std::string& folder) {
  // Without a slash at the end, which would hide the last part.
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (folder.empty() || ParseVersion(std::filesystem::path(folder).filename().string())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersionAt(folder));
  absl::StrAppend(&folder, "/", version.manifest.version());
  return absl::OkStatus();
}

v1::Provenance MakeProvenance(const v1::Recipe& recipe, const TrainResult& result, const PublishOptions& options) {
  v1::Provenance provenance;
  provenance.set_recipe(recipe.name());
  for (const std::string& assignment : options.overrides) {
    absl::StrAppend(provenance.mutable_recipe(), " --set ", assignment);
  }
  provenance.set_data(recipe.data().name());
  provenance.set_data_digest(result.data_digest);
  provenance.set_seed(static_cast<int64_t>(recipe.seed()));
  provenance.set_epochs(result.epochs);
  provenance.set_images_seen(result.position.samples);
  provenance.set_hardware(HardwareInWords(result.position.threads));
  provenance.set_train_seconds(result.position.seconds);
  provenance.set_source_revision(options.source_revision);
  provenance.set_ema_decay(recipe.ema_decay());
  provenance.set_created_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  return provenance;
}

}  // namespace

std::string HardwareInWords(int threads) {
  std::ifstream cpus("/proc/cpuinfo");
  std::string line, name = "unknown processor";
  while (std::getline(cpus, line)) {
    if (!line.starts_with("model name")) continue;
    name = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  return absl::StrCat(name, ", ", threads, threads == 1 ? " thread" : " threads");
}

absl::Status PinVersions(v1::Recipe& recipe) {
  if (recipe.has_start()) RETURN_IF_ERROR(PinVersion(*recipe.mutable_start()->mutable_version()));
  if (recipe.has_distillation()) RETURN_IF_ERROR(PinVersion(*recipe.mutable_distillation()->mutable_teacher()));
  return absl::OkStatus();
}

absl::StatusOr<VersionId> PublishResult(const v1::Recipe& recipe, const TrainResult& result, const Dataset& train,
                                        const Dataset& test, const PublishOptions& options) {
  const auto& trained = dynamic_cast<const Model&>(*result.model);
  const bool bf16 = recipe.storage() == v1::Recipe::BF16;
  Draft draft;
  draft.weights = SaveWeights(trained, bf16 ? at::kBFloat16 : at::kFloat);
  draft.labels = train.labels();
  // From here on the weights as a server will load them.
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> stored, MakeModel(trained.config()));
  RETURN_IF_ERROR(LoadWeights(draft.weights, *stored));

  *draft.manifest.mutable_config() = stored->config();
  *draft.manifest.mutable_provenance() = MakeProvenance(recipe, result, options);
  RETURN_IF_ERROR(AddAncestors(recipe, *stored, *draft.manifest.mutable_provenance()));
  draft.manifest.set_parameters(stored->CountParameters());
  for (const Tolerance& tolerance : kTolerances) {
    v1::GoldenTolerance& entry = *draft.manifest.add_golden_tolerances();
    entry.set_device(tolerance.device);
    entry.set_precision(tolerance.precision);
    entry.set_tolerance(tolerance.value);
  }
  ASSIGN_OR_RETURN(const auto sizes, EvaluationSizes(recipe));
  const char* const measured = SamePictures(train, test) ? "train" : "test";
  for (const std::optional<Size>& size : sizes) {
    const std::string split = SplitInWords(measured, stored->config().preprocessing(), size);
    ASSIGN_OR_RETURN(const Accuracy accuracy,
                     Evaluate(*stored, test, size, {.threads = options.threads, .stop = options.stop}));
    v1::Metric& metric = *draft.manifest.mutable_provenance()->add_metrics();
    metric.set_name("top1");
    metric.set_split(split);
    metric.set_value(accuracy.top1());
    metric.set_images(accuracy.images);
    if (options.say) options.say(absl::StrCat(split, ": ", 100 * accuracy.top1(), " % of ", accuracy.images));
  }
  ASSIGN_OR_RETURN(draft.golden, MakeGoldens(recipe, *stored, test));
  draft.manifest.set_model(options.model);
  draft.extra_files["model_card.md"] = ModelCard(recipe, draft.manifest, result);
  draft.extra_files["recipe.textproto"] = PrintRecipe(recipe);
  return Publish(options.repository, options.model, draft);
}

}  // namespace vitrine
