// SPDX-License-Identifier: Apache-2.0
#include "models/repository/golden.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

constexpr std::string_view kImage = "picture.";
// Minimum of the scale that ScaleOf returns.
constexpr float kLeastScale = 1e-3F;

std::string LogitsName(std::string_view precision, size_t i) {
  const std::string name = absl::StrCat("logits.", i);
  return precision == "fp32" ? name : absl::StrCat(std::string(precision), ".", name);
}

absl::Status RefusedGolden(const std::string& name, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat("golden ", Quoted(name), " ", fault));
}

// Inputs of a golden file, in order, ready for the model.
struct GoldenInputs {
  std::vector<std::string> names;  // "input.0", "picture.1", ...
  std::vector<FloatArray> images;
};

bool IsImage(std::string_view name) {
  return name.starts_with(kImage);
}

const StoredTensor* Find(const Safetensors& golden, const std::string& name) {
  const auto found = golden.tensors.find(name);
  return found == golden.tensors.end() ? nullptr : &found->second;
}

absl::StatusOr<Grid> GridOf(const FloatArray& input, const ModelDescription& model) {
  return model.GridFor(static_cast<int>(input.shape[1]), static_cast<int>(input.shape[2]));
}

// Checks an input against the model, because the golden file may belong to another model.
absl::Status CheckInput(const std::string& name, const FloatArray& input, const ModelDescription& model) {
  const int channels = model.config().preprocessing().channels();
  if (input.shape.size() != 3 || input.shape[0] != channels) {
    return RefusedGolden(name, absl::StrCat("is not F32 [", channels, ", height, width]"));
  }
  constexpr int64_t kLongestSide = 8192;
  if (input.shape[1] > kLongestSide || input.shape[2] > kLongestSide) {
    return RefusedGolden(name, "is larger than any image");
  }
  const auto grid = GridOf(input, model);
  if (!grid.ok()) return RefusedGolden(name, absl::StrCat("does not fit the model: ", grid.status().message()));
  return absl::OkStatus();
}

absl::StatusOr<FloatArray> StoredInput(const std::string& name, const StoredTensor& input) {
  if (input.dtype != Dtype::kF32) return RefusedGolden(name, "is not F32 [channels, height, width]");
  return FloatsOf(input);
}

absl::StatusOr<FloatArray> DecodedImage(const std::string& name, const StoredTensor& image,
                                        const v1::Preprocessing& preprocessing, const ImageToInput& to_input) {
  if (image.dtype != Dtype::kU8 || image.shape.size() != 1) return RefusedGolden(name, "is not U8 [bytes]");
  absl::StatusOr<FloatArray> input = to_input({image.As<char>(), static_cast<size_t>(image.bytes())}, preprocessing);
  if (!input.ok()) return RefusedGolden(name, absl::StrCat("cannot be decoded: ", input.status().message()));
  return input;
}

// Returns true for "<precision>.logits.<i>" with i below `goldens`, also for an unknown precision.
bool IsOfAPrecision(const std::string& name, size_t goldens) {
  const size_t dot = name.find('.');
  for (size_t place = 0; dot != std::string::npos && place < goldens; ++place) {
    if (name == LogitsName(name.substr(0, dot), place)) return true;
  }
  return false;
}

absl::StatusOr<GoldenInputs> CollectInputs(const Safetensors& golden, const ModelDescription& model,
                                           const ImageToInput& to_input) {
  GoldenInputs inputs;
  std::set<std::string> known;
  bool has_image = false;
  for (int i = 0;; ++i) {
    const std::string input_name = absl::StrCat("input.", i);
    const std::string image_name = absl::StrCat(std::string(kImage), i);
    const StoredTensor* input = Find(golden, input_name);
    const StoredTensor* stored = Find(golden, image_name);
    if (input == nullptr && stored == nullptr) break;
    if (input != nullptr && stored != nullptr)
      return RefusedGolden(input_name, absl::StrCat("clashes with ", image_name));
    const std::string& name = input != nullptr ? input_name : image_name;
    ASSIGN_OR_RETURN(FloatArray image, input != nullptr
                                           ? StoredInput(name, *input)
                                           : DecodedImage(name, *stored, model.config().preprocessing(), to_input));
    has_image |= stored != nullptr;
    RETURN_IF_ERROR(CheckInput(name, image, model));
    const size_t place = inputs.images.size();
    known.insert({name, LogitsName("fp32", place)});
    inputs.names.push_back(name);
    inputs.images.push_back(std::move(image));
  }
  for (const auto& [name, tensor] : golden.tensors) {
    if (!known.contains(name) && !IsOfAPrecision(name, inputs.images.size())) {
      return RefusedGolden(name, "is not input, picture or logits of a golden, numbered 0, 1, ... without a gap");
    }
  }
  if (!has_image) {
    return absl::FailedPreconditionError("no golden image, which is needed to check the preprocessing");
  }
  return inputs;
}

// Returns the scale by which errors of logits are divided: max(kLeastScale, largest |golden|) over all goldens.
float ScaleOf(std::span<const std::span<const float>> golden) {
  float scale = kLeastScale;
  for (const std::span<const float> logits : golden) {
    for (const float logit : logits) scale = std::max(scale, std::fabs(logit));
  }
  return scale;
}

// Returns the largest |logit - golden| / scale; NaN if a logit is NaN.
float Distance(std::span<const float> logits, std::span<const float> golden, float scale) {
  float largest = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const float difference = std::fabs(logits[i] - golden[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest / scale;
}

absl::StatusOr<float> ToleranceFor(const v1::Manifest& manifest, const std::string& kind,
                                   const std::string& precision) {
  for (const v1::GoldenTolerance& row : manifest.golden_tolerances()) {
    if (row.device() == kind && row.precision() == precision) return row.tolerance();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the manifest has no golden tolerance for ", precision, " on ", kind,
                   "; serve it in another precision, or publish it again with `vitrine-repo quantize`"));
}

absl::Status Compare(const std::string& name, std::span<const float> logits, std::span<const float> golden, float scale,
                     float tolerance, const std::string& how) {
  const auto is_finite = [](float logit) { return std::isfinite(logit); };
  if (!std::all_of(logits.begin(), logits.end(), is_finite)) {
    return RefusedGolden(name, absl::StrCat(how, " gives logits that are not finite"));
  }
  if (!std::all_of(golden.begin(), golden.end(), is_finite)) {
    return RefusedGolden(name, "has logits that are not finite");
  }
  const float distance = Distance(logits, golden, scale);
  if (distance <= tolerance) return absl::OkStatus();
  return RefusedGolden(name,
                       absl::StrCat(how, " gives logits that are off by ", distance, "; the tolerance is ", tolerance));
}

// Returns the recorded logits, one row per input.
absl::StatusOr<std::vector<std::span<const float>>> CollectLogits(const StoredVersion& version,
                                                                  const ModelDescription& model,
                                                                  const GoldenInputs& inputs,
                                                                  std::string_view precision) {
  const int64_t classes = model.outputs();
  if (Find(version.golden, LogitsName(precision, 0)) == nullptr) precision = "fp32";
  std::vector<std::span<const float>> golden;
  for (size_t i = 0; i < inputs.names.size(); ++i) {
    const std::string name = LogitsName(precision, i);
    const StoredTensor* logits = Find(version.golden, name);
    if (logits == nullptr) return RefusedGolden(name, "is missing");
    if (logits->dtype != Dtype::kF32 || logits->shape != std::vector<int64_t>{classes}) {
      return RefusedGolden(name, absl::StrCat("is not F32 [", classes, "]"));
    }
    golden.emplace_back(logits->As<float>(), static_cast<size_t>(classes));
  }
  return golden;
}

// Keeps the goldens that GoldenRun::few selects.
void KeepFew(GoldenInputs& inputs, std::vector<std::span<const float>>& golden) {
  const size_t count = inputs.names.size();
  size_t smallest = count;
  for (size_t i = 0; i < count; ++i) {
    if (IsImage(inputs.names[i])) continue;
    if (smallest == count || inputs.images[i].values.size() < inputs.images[smallest].values.size()) smallest = i;
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!IsImage(inputs.names[i]) && i != smallest) continue;
    std::swap(inputs.names[kept], inputs.names[i]);
    std::swap(inputs.images[kept], inputs.images[i]);
    golden[kept++] = golden[i];
  }
  inputs.names.resize(kept);
  inputs.images.resize(kept);
  golden.resize(kept);
}

absl::StatusOr<FloatArray> Logits(const ModelDescription& model, const Forward& forward,
                                  std::span<const FloatArray> images) {
  ASSIGN_OR_RETURN(FloatArray logits, forward(images));
  const std::vector<int64_t> shape = {static_cast<int64_t>(images.size()), model.outputs()};
  if (logits.shape != shape) return absl::InternalError("the logits have the wrong shape");
  return logits;
}

absl::Status CheckWithin(const StoredVersion& version, const ModelDescription& model, const Forward& forward,
                         const ImageToInput& to_input, std::string_view precision, float tolerance,
                         const GoldenRun& run) {
  ASSIGN_OR_RETURN(GoldenInputs inputs, CollectInputs(version.golden, model, to_input));
  ASSIGN_OR_RETURN(auto golden, CollectLogits(version, model, inputs, precision));
  if (run.few) KeepFew(inputs, golden);
  const float scale = ScaleOf(golden);
  ASSIGN_OR_RETURN(const FloatArray together, Logits(model, forward, inputs.images));
  for (size_t i = 0; i < golden.size(); ++i) {
    RETURN_IF_ERROR(Compare(inputs.names[i], together[static_cast<int64_t>(i)], golden[i], scale, tolerance,
                            absl::StrCat("in a batch of ", golden.size())));
  }
  const FloatArray& first = inputs.images[0];
  if (run.before_alone != nullptr) run.before_alone();
  ASSIGN_OR_RETURN(const FloatArray alone, Logits(model, forward, {&first, 1}));
  if (run.after_alone != nullptr) {
    ASSIGN_OR_RETURN(const Grid grid, GridOf(first, model));
    run.after_alone(grid.cells() + model.prefix_tokens());
  }
  return Compare(inputs.names[0], alone[0], golden[0], scale, tolerance, "alone");
}

}  // namespace

absl::Status CheckGolden(const StoredVersion& version, const ModelDescription& model, const Forward& forward,
                         const ImageToInput& to_input, std::string_view device, std::string_view precision,
                         const GoldenRun& run) {
  const std::string prefix = absl::StrCat(version.manifest.model(), "/", version.manifest.version(), ": ");
  const std::string kind = std::string(device.substr(0, device.find(':')));
  const absl::StatusOr<float> tolerance = ToleranceFor(version.manifest, kind, std::string(precision));
  if (!tolerance.ok()) return absl::FailedPreconditionError(absl::StrCat(prefix, tolerance.status().message()));
  const absl::Status status = CheckWithin(version, model, forward, to_input, precision, *tolerance, run);
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

absl::StatusOr<float> GoldenDrift(const StoredVersion& version, const ModelDescription& model, const Forward& forward,
                                  const ImageToInput& to_input, std::string_view precision) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, CollectInputs(version.golden, model, to_input));
  ASSIGN_OR_RETURN(const auto golden, CollectLogits(version, model, inputs, precision));
  ASSIGN_OR_RETURN(const FloatArray together, Logits(model, forward, inputs.images));
  const float scale = ScaleOf(golden);
  float drift = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const float distance = Distance(together[static_cast<int64_t>(i)], golden[i], scale);
    if (!(distance <= drift)) drift = distance;  // the negated form is also true for NaN
    if (std::isnan(drift)) return drift;
  }
  return drift;
}

absl::Status RecordGolden(const ModelDescription& model, const Forward& forward, const ImageToInput& to_input,
                          Safetensors& golden, std::string_view precision) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, CollectInputs(golden, model, to_input));
  ASSIGN_OR_RETURN(const FloatArray logits, Logits(model, forward, inputs.images));
  for (size_t i = 0; i < inputs.names.size(); ++i) {
    const std::span<const float> row = logits[static_cast<int64_t>(i)];
    golden.tensors[LogitsName(precision, i)] = StoredOf(
        FloatArray{.shape = {static_cast<int64_t>(row.size())}, .values = std::vector<float>(row.begin(), row.end())});
  }
  return absl::OkStatus();
}

}  // namespace vitrine
