// SPDX-License-Identifier: Apache-2.0
#include "trainer/publish/publish.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "models/repository/names.h"
#include "trainer/recipe/recipe.h"
#include "trainer/tasks/start.h"

namespace vitrine {
namespace {

// Allowed difference of a device's logits from the golden logits, relative to the largest logit. fp32 results differ
// because kernels and GPUs sum in different orders. bf16 results differ more, because every layer rounds to 8 bits of
// mantissa.
struct Tolerance {
  const char* device;
  const char* precision;
  float value;
};
constexpr Tolerance kTolerances[] = {
    {"cpu", "fp32", 1e-4f}, {"cuda", "fp32", 1e-3f}, {"cpu", "bf16", 5e-2f}, {"cuda", "bf16", 5e-2f}};

std::string SplitInWords(absl::string_view split, const v1::Preprocessing& preprocessing, std::optional<Size> size) {
  if (!size && preprocessing.has_fixed()) size = {preprocessing.fixed().height(), preprocessing.fixed().width()};
  return size ? absl::StrCat(split, " ", ToString(*size)) : std::string(split);
}

// Appends a version number to `folder` if it has none. `before` is the version that the resumed run used, or empty.
absl::Status PinVersion(const std::string& before, std::string& folder) {
  // Removes slashes at the end: with them, filename() would be empty.
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (before.starts_with(folder + "/") && ParseVersion(before.substr(folder.size() + 1))) folder = before;
  if (folder.empty() || ParseVersion(std::filesystem::path(folder).filename().string())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersionAt(folder));
  absl::StrAppend(&folder, "/", version.manifest.version());
  return absl::OkStatus();
}

// Returns the newest version of options.model if its weights and extra files (model card, recipe) equal the draft's.
std::optional<VersionId> FindPublished(const PublishOptions& options, const Draft& draft) {
  const absl::StatusOr<std::vector<VersionId>> versions = ListVersions(options.repository);
  VersionId newest;
  for (const VersionId& id : versions.value_or(std::vector<VersionId>())) {
    if (id.model == options.model) newest = std::max(newest, id);
  }
  const absl::StatusOr<StoredVersion> stored = ReadVersion(options.repository, newest);
  const absl::StatusOr<std::string> weights = WriteSafetensors(draft.weights);
  const bool same = stored.ok() && weights.ok() && stored->weights_sha256 == Sha256Hex(*weights) &&
                    stored->extra_files == draft.extra_files;
  return same ? std::optional(newest) : std::nullopt;
}

}  // namespace

absl::Status PinVersions(v1::Recipe& recipe, const v1::Recipe& before) {
  if (recipe.has_start()) {
    RETURN_IF_ERROR(PinVersion(before.start().version(), *recipe.mutable_start()->mutable_version()));
  }
  if (recipe.has_distillation()) {
    RETURN_IF_ERROR(PinVersion(before.distillation().teacher(), *recipe.mutable_distillation()->mutable_teacher()));
  }
  return absl::OkStatus();
}

absl::StatusOr<VersionId> PublishResult(const v1::Recipe& recipe, const TrainResult& result, const Dataset& train,
                                        const Dataset& test, const PublishOptions& options) {
  const auto& trained = dynamic_cast<const Model&>(*result.model);
  const bool bf16 = recipe.storage() == v1::Recipe::BF16;
  Draft draft;
  draft.weights = SaveWeights(trained, bf16 ? Dtype::kBF16 : Dtype::kF32);
  draft.labels = train.labels();
  // From here on, uses the stored, rounded weights, which a server will load.
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> stored, MakeModel(trained.config()));
  RETURN_IF_ERROR(LoadWeights(draft.weights, *stored));

  *draft.manifest.mutable_config() = stored->config();
  *draft.manifest.mutable_provenance() = MakeProvenance(recipe, result, options.origin);
  RETURN_IF_ERROR(AddAncestors(recipe, *stored, *draft.manifest.mutable_provenance()));
  draft.manifest.set_parameters(stored->CountParameters());
  for (const Tolerance& tolerance : kTolerances) {
    v1::GoldenTolerance& entry = *draft.manifest.add_golden_tolerances();
    entry.set_device(tolerance.device);
    entry.set_precision(tolerance.precision);
    entry.set_tolerance(tolerance.value);
  }
  ASSIGN_OR_RETURN(const auto sizes, EvaluationSizes(recipe));
  const char* const measured = SameImages(train, test) ? "train" : "test";
  for (const std::optional<Size>& size : sizes) {
    const std::string split = SplitInWords(measured, stored->config().preprocessing(), size);
    ASSIGN_OR_RETURN(
        const Accuracy accuracy,
        Evaluate(*stored, test, size,
                 {.crop = EvaluationCrop(recipe),
                  .threads = options.threads,
                  .stop = options.stop,
                  .progress = options.progress == nullptr ? nullptr : options.progress->Measuring(split, "images")}));
    v1::Metric& metric = *draft.manifest.mutable_provenance()->add_metrics();
    metric.set_name("top1");
    metric.set_split(split);
    metric.set_value(accuracy.top1());
    metric.set_images(accuracy.images);
    if (options.progress == nullptr) continue;
    options.progress->Line(absl::StrCat(split, ": ", 100 * accuracy.top1(), " % of ", accuracy.images));
  }
  ASSIGN_OR_RETURN(draft.golden, MakeGoldens(recipe, *stored, test, options.golden));
  draft.manifest.set_goldens_by("reference");
  draft.manifest.set_model(options.model);
  draft.extra_files["model_card.md"] = ModelCard(recipe, draft.manifest, result, options.golden);
  draft.extra_files["recipe.textproto"] = PrintRecipe(recipe);
  if (const std::optional<VersionId> same = FindPublished(options, draft)) {
    if (options.progress != nullptr) {
      options.progress->Line(absl::StrCat("this result is published already: ", same->model, "/", same->version));
    }
    return *same;
  }
  return Publish(options.repository, options.model, draft);
}

}  // namespace vitrine
