// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "repository/checkpoint.h"
#include "repository/text.h"

namespace vitrine {
namespace {

absl::Status Refused(const std::string& name, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat("golden ", Quoted(name), " ", fault));
}

// The inputs of a golden file, in order, ready for the model.
struct GoldenInputs {
  std::vector<std::string> names;  // "input.0", "picture.1", ...
  ImageBatch images;
};

const at::Tensor* Find(const Safetensors& golden, const std::string& name) {
  const auto found = golden.tensors.find(name);
  return found == golden.tensors.end() ? nullptr : &found->second;
}

// An input as the model takes it: whoever made the file may have made it for another model.
absl::Status CheckInput(const std::string& name, const at::Tensor& input, const Model& model) {
  const int channels = model.config().preprocessing().channels();
  if (input.scalar_type() != at::kFloat || input.dim() != 3 || input.size(0) != channels) {
    return Refused(name, absl::StrCat("is not F32 [", channels, ", height, width]"));
  }
  constexpr int64_t kLongestSide = 8192;
  if (input.size(1) > kLongestSide || input.size(2) > kLongestSide) return Refused(name, "is larger than any picture");
  const auto grid = model.GridFor(static_cast<int>(input.size(1)), static_cast<int>(input.size(2)));
  if (!grid.ok()) return Refused(name, absl::StrCat("does not fit the model: ", grid.status().message()));
  return absl::OkStatus();
}

absl::StatusOr<at::Tensor> DecodedPicture(const std::string& name, const at::Tensor& picture,
                                          const v1::Preprocessing& preprocessing, const PictureToInput& to_input) {
  if (picture.scalar_type() != at::kByte || picture.dim() != 1) return Refused(name, "is not U8 [bytes]");
  const at::Tensor bytes = picture.contiguous();
  absl::StatusOr<at::Tensor> input =
      to_input({static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel())}, preprocessing);
  if (!input.ok()) return Refused(name, absl::StrCat("cannot be decoded: ", input.status().message()));
  return input;
}

absl::StatusOr<GoldenInputs> CollectInputs(const Safetensors& golden, const Model& model,
                                           const PictureToInput& to_input, at::Device device) {
  GoldenInputs inputs;
  std::set<std::string> known;
  bool has_picture = false;
  for (int i = 0;; ++i) {
    const std::string input_name = absl::StrCat("input.", i);
    const std::string picture_name = absl::StrCat("picture.", i);
    const at::Tensor* input = Find(golden, input_name);
    const at::Tensor* picture = Find(golden, picture_name);
    if (input == nullptr && picture == nullptr) break;
    if (input != nullptr && picture != nullptr) return Refused(input_name, absl::StrCat("clashes with ", picture_name));
    const std::string& name = input != nullptr ? input_name : picture_name;
    at::Tensor image = input != nullptr ? *input : at::Tensor();
    if (picture != nullptr) {
      ASSIGN_OR_RETURN(image, DecodedPicture(name, *picture, model.config().preprocessing(), to_input));
      has_picture = true;
    }
    RETURN_IF_ERROR(CheckInput(name, image, model));
    known.insert({name, absl::StrCat("logits.", i)});
    inputs.names.push_back(name);
    inputs.images.push_back(image.to(device));
  }
  for (const auto& [name, tensor] : golden.tensors) {
    if (!known.contains(name)) {
      return Refused(name, "is neither input, picture nor logits of a golden; they count 0, 1, ... without a gap");
    }
  }
  if (!has_picture) {
    return absl::FailedPreconditionError("no golden picture; without one the preprocessing is not checked");
  }
  return inputs;
}

// Largest |logit - golden| / max(1, largest |golden|). NaN if a logit is.
float Distance(const at::Tensor& logits, const at::Tensor& golden) {
  const at::Tensor actual = logits.cpu().contiguous();
  const float* a = actual.const_data_ptr<float>();
  const float* b = golden.const_data_ptr<float>();
  float largest = 0;
  float scale = 1;
  for (int64_t i = 0; i < golden.numel(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
    scale = std::max(scale, std::fabs(b[i]));
  }
  return largest / scale;
}

absl::StatusOr<float> ToleranceFor(const v1::Manifest& manifest, const std::string& kind,
                                   const std::string& precision) {
  for (const v1::GoldenTolerance& row : manifest.golden_tolerances()) {
    if (row.device() == kind && row.precision() == precision) return row.tolerance();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the manifest has no golden tolerance for ", precision, " on ", kind));
}

absl::Status Compare(const std::string& name, const at::Tensor& logits, const at::Tensor& golden, float tolerance,
                     const std::string& how) {
  const float distance = Distance(logits, golden);
  if (distance <= tolerance) return absl::OkStatus();
  return Refused(name, absl::StrCat(how, " gives logits that are off by ", distance, "; the tolerance is ", tolerance));
}

// The recorded logits, one for each input.
absl::StatusOr<std::vector<at::Tensor>> CollectLogits(const StoredVersion& version, const GoldenInputs& inputs) {
  const int64_t classes = version.manifest.config().classes();
  std::vector<at::Tensor> golden;
  for (size_t i = 0; i < inputs.names.size(); ++i) {
    const std::string name = absl::StrCat("logits.", i);
    const at::Tensor* logits = Find(version.golden, name);
    if (logits == nullptr) return Refused(name, "is missing");
    if (logits->scalar_type() != at::kFloat || logits->dim() != 1 || logits->numel() != classes) {
      return Refused(name, absl::StrCat("is not F32 [", classes, "]"));
    }
    golden.push_back(logits->contiguous());
  }
  return golden;
}

absl::Status CheckOnDevice(const StoredVersion& version, const Model& model, const PictureToInput& to_input,
                           at::Device device, float tolerance, const GoldenSteps& steps) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, CollectInputs(version.golden, model, to_input, device));
  ASSIGN_OR_RETURN(const std::vector<at::Tensor> golden, CollectLogits(version, inputs));
  ASSIGN_OR_RETURN(const at::Tensor together, RunModel(model, inputs.images));
  for (size_t i = 0; i < golden.size(); ++i) {
    RETURN_IF_ERROR(Compare(inputs.names[i], together.select(0, static_cast<int64_t>(i)), golden[i], tolerance,
                            absl::StrCat("in a batch of ", golden.size())));
  }
  const at::Tensor& first = inputs.images[0];
  if (steps.before_alone != nullptr) steps.before_alone();
  ASSIGN_OR_RETURN(at::Tensor alone, RunModel(model, {first}));
  alone = alone.cpu();  // a device computes on after RunModel returns; fetching waits for it
  if (steps.after_alone != nullptr) {
    ASSIGN_OR_RETURN(const Grid grid, model.GridFor(static_cast<int>(first.size(1)), static_cast<int>(first.size(2))));
    steps.after_alone(grid.cells() + model.prefix_tokens());
  }
  return Compare(inputs.names[0], alone.select(0, 0), golden[0], tolerance, "alone");
}

absl::StatusOr<float> DriftOnDevice(const StoredVersion& version, const Model& model, const PictureToInput& to_input,
                                    at::Device device) {
  ASSIGN_OR_RETURN(const GoldenInputs inputs, CollectInputs(version.golden, model, to_input, device));
  ASSIGN_OR_RETURN(const std::vector<at::Tensor> golden, CollectLogits(version, inputs));
  ASSIGN_OR_RETURN(const at::Tensor together, RunModel(model, inputs.images));
  float drift = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const float distance = Distance(together.select(0, static_cast<int64_t>(i)), golden[i]);
    if (!(distance <= drift)) drift = distance;  // a NaN stays
    if (std::isnan(drift)) return drift;
  }
  return drift;
}

}  // namespace

absl::Status CheckGolden(const StoredVersion& version, const Model& model, const PictureToInput& to_input,
                         std::string_view device, std::string_view precision, const GoldenSteps& steps) {
  const std::string prefix = absl::StrCat(version.manifest.model(), "/", version.manifest.version(), ": ");
  const std::string kind = std::string(device.substr(0, device.find(':')));
  const absl::StatusOr<float> tolerance = ToleranceFor(version.manifest, kind, std::string(precision));
  if (!tolerance.ok()) return absl::FailedPreconditionError(absl::StrCat(prefix, tolerance.status().message()));
  try {
    const absl::Status status =
        CheckOnDevice(version, model, to_input, at::Device(std::string(device)), *tolerance, steps);
    return status.ok() ? status : absl::Status(status.code(), absl::StrCat(prefix, status.message()));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat(prefix, "LibTorch: ", error.what_without_backtrace()));
  }
}

absl::StatusOr<float> GoldenDrift(const StoredVersion& version, const Model& model, const PictureToInput& to_input,
                                  std::string_view device) {
  try {
    return DriftOnDevice(version, model, to_input, at::Device(std::string(device)));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what_without_backtrace()));
  }
}

absl::Status RecordGolden(const Model& model, const PictureToInput& to_input, Safetensors& golden) {
  try {
    ASSIGN_OR_RETURN(const GoldenInputs inputs, CollectInputs(golden, model, to_input, at::kCPU));
    ASSIGN_OR_RETURN(const at::Tensor logits, RunModel(model, inputs.images));
    for (size_t i = 0; i < inputs.names.size(); ++i) {
      golden.tensors[absl::StrCat("logits.", i)] = logits.select(0, static_cast<int64_t>(i)).contiguous().clone();
    }
    return absl::OkStatus();
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("LibTorch: ", error.what_without_backtrace()));
  }
}

}  // namespace vitrine
