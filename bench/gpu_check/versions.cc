// SPDX-License-Identifier: Apache-2.0
// Compares the results of published models on the device with those on the CPU.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_check/checks.h"
#include "bench/gpu_check/subject.h"
#include "common/imaging/decode_input.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu_backend.h"
#include "models/engine/logits.h"
#include "models/repository/golden.h"
#include "models/repository/manifest.h"
#include "models/repository/weights.h"

namespace vitrine {
namespace {

absl::StatusOr<FloatArray> Decode(std::string_view image, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(PlannedInput planned, PlanAndDecodeInput(image, preprocessing));
  const Size input = planned.geometry.input;
  return FloatArray{.shape = {preprocessing.channels(), input.height, input.width},
                    .values = std::move(planned.values)};
}

// Returns the number of images whose most probable class is the same in `a` and `b`.
size_t SameTop(std::span<const float> a, std::span<const float> b, size_t classes) {
  const auto top = [&](std::span<const float> logits, size_t image) {
    const std::span<const float> row = logits.subspan(image * classes, classes);
    return std::max_element(row.begin(), row.end()) - row.begin();
  };
  size_t same = 0;
  for (size_t image = 0; image < a.size() / classes; ++image) same += top(a, image) == top(b, image) ? 1 : 0;
  return same;
}

absl::StatusOr<std::unique_ptr<const Backend>> OnCard(const CheckSetting& setting, const StoredVersion& stored,
                                                      const WeightedModel& model, Precision precision,
                                                      std::span<const FloatArray> images) {
  PrecisionChoice choice = {.precision = precision, .kept = {}};
  if (const v1::PrecisionPlan* const plan = FindPrecision(stored.manifest, Name(precision)); plan != nullptr) {
    choice.kept.insert(plan->kept().begin(), plan->kept().end());
  }
  const std::vector<const float*> pointers = PointersTo(model);
  engine::WeightsInMemory source(pointers);
  return setting.library->make_backend(setting.device, model.description.program(), source, choice,
                                       LargestOf(model.description, images), BatchOf(model.description, images));
}

absl::StatusOr<std::string> CheckVersion(const CheckSetting& setting, const VersionId& id) {
  ASSIGN_OR_RETURN(StoredVersion stored, ReadVersion(setting.repository, id));
  ASSIGN_OR_RETURN(const WeightedModel model, FitWeights(stored.manifest, std::move(stored.weights)));
  const v1::ModelConfig& config = model.description.config();
  const int64_t outputs = model.description.outputs();
  std::vector<FloatArray> images;
  for (const std::string& image : setting.images) {
    ASSIGN_OR_RETURN(FloatArray input, Decode(image, config.preprocessing()));
    images.push_back(std::move(input));
  }
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> cpu,
                   MakeCpuBackend(model.description.program(), PointersTo(model), path));
  ASSIGN_OR_RETURN(const std::vector<float> expected, LogitsOfAll(*cpu, outputs, images));
  std::string figures, faults;
  for (const Precision precision : kPrecisions) {
    ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> card, OnCard(setting, stored, model, precision, images));
    if (precision == Precision::kFp32) {
      const Forward forward = [&](std::span<const FloatArray> inputs) { return LogitsOf(*card, outputs, inputs); };
      RETURN_IF_ERROR(CheckGolden(stored, model.description, forward, Decode, "cuda", Name(precision)));
    }
    ASSIGN_OR_RETURN(const std::vector<float> logits, LogitsOfAll(*card, outputs, images));
    const double error = Apart(logits, expected);
    absl::StrAppendFormat(&figures, "%s %.1e, ", Name(precision), error);
    if (config.classes() > 0) {
      absl::StrAppendFormat(&figures, "same class of %d; ", SameTop(logits, expected, static_cast<size_t>(outputs)));
    }
    // Only fp32 is checked, because the error of bf16 and int8 depends on the trained weights.
    if (precision == Precision::kFp32 && !(error <= ToleranceOf(precision))) faults = "fp32 is off; ";
  }
  absl::StrAppend(&figures, images.size(), " images in one batch; goldens reproduced");
  if (faults.empty()) return figures;
  return absl::InternalError(faults + figures);
}

}  // namespace

void CheckVersions(const CheckSetting& setting, CheckReport& report) {
  for (const VersionId& id : setting.versions) {
    report.Run(absl::StrCat(id.model, "/", id.version), [&] { return CheckVersion(setting, id); });
  }
}

}  // namespace vitrine
