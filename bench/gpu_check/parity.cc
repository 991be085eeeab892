// SPDX-License-Identifier: Apache-2.0
// Compares the device with the CPU.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_check/checks.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/float_arrays.h"
#include "models/reference/model.h"
#include "models/zoo/small_forms.h"
#include "server/registry/golden_input.h"

namespace vitrine {
namespace {

// Adds noise to the parameters, since fresh weights have zero biases, which would hide a missing bias.
void Shake(const Model& model, at::Generator& random) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : model.Parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.add_(at::randn(tensor.sizes(), random, at::kFloat), 0.05);
  }
}

// Returns inputs of the form's size and of its multiples that the model takes. Some sizes repeat.
ImageBatch RandomInputs(const Model& model, const SmallForm& form, at::Generator& random) {
  ImageBatch images;
  for (const auto& [down, across] : {std::pair(1, 1), {2, 1}, {2, 1}, {1, 2}, {2, 3}, {1, 1}}) {
    const int height = down * form.height, width = across * form.width;
    if (!model.GridFor(height, width).ok()) continue;
    images.push_back(at::randn({form.config.preprocessing().channels(), height, width}, random, at::kFloat));
  }
  return images;
}

AttentionTap TapOfEverything(const Model& model, size_t images) {
  AttentionTap tap;
  const std::vector<AttentionAbility::Offer> offers = model.attention().offers;
  for (size_t image = 0; image < images; ++image) {
    for (const AttentionAbility::Offer& offer : offers) {
      for (int layer = 0; layer < offer.layers; ++layer) tap.Request(static_cast<int>(image), offer.source, layer);
    }
  }
  return tap;
}

// Returns the largest error of any matrix; infinite or NaN if a matrix has such values.
double LargestError(const AttentionTap::Matrices& actual, const AttentionTap::Matrices& expected) {
  double largest = 0;
  for (const auto member : {&AttentionTap::Matrices::scores, &AttentionTap::Matrices::weights,
                            &AttentionTap::Matrices::queries, &AttentionTap::Matrices::keys}) {
    if ((expected.*member).empty()) continue;
    const double error = RelativeError(TensorOf(actual.*member), TensorOf(expected.*member));
    if (!std::isfinite(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

// Returns the largest error of any requested matrix; INTERNAL if one is missing.
absl::StatusOr<double> AttentionError(const Model& model, size_t images, const AttentionTap& device,
                                      const AttentionTap& cpu) {
  const std::vector<AttentionAbility::Offer> offers = model.attention().offers;
  double largest = 0;
  for (int image = 0; image < static_cast<int>(images); ++image) {
    for (const AttentionAbility::Offer& offer : offers) {
      for (int layer = 0; layer < offer.layers; ++layer) {
        const AttentionTap::Matrices* actual = device.Find(image, offer.source, layer);
        const AttentionTap::Matrices* expected = cpu.Find(image, offer.source, layer);
        if (actual == nullptr || expected == nullptr) {
          return absl::InternalError(
              absl::StrCat("image ", image, " has no ", v1::AttentionKind_Name(offer.kind), " of layer ", layer));
        }
        const double error = LargestError(*actual, *expected);
        if (!std::isfinite(error)) return absl::InternalError("an attention matrix holds what is no number");
        largest = std::max(largest, error);
      }
    }
  }
  return largest;
}

// Compares the device with the CPU. Moves the model from the CPU to the device.
absl::StatusOr<std::string> Compare(Model& model, const ImageBatch& images, at::Device device) {
  AttentionTap cpu_tap = TapOfEverything(model, images.size());
  ASSIGN_OR_RETURN(const at::Tensor expected, RunModel(model, images, &cpu_tap));

  model.To(device);
  ImageBatch moved;
  std::set<std::pair<int, int>> grids;
  for (const at::Tensor& image : images) {
    moved.push_back(image.to(device));
    ASSIGN_OR_RETURN(const Grid grid, model.GridFor(static_cast<int>(image.size(1)), static_cast<int>(image.size(2))));
    grids.insert({grid.rows, grid.columns});
  }
  AttentionTap tap = TapOfEverything(model, images.size());
  ForwardContext context;
  context.tap = &tap;
  context.library_only = true;  // the device has no kernels of this project; the CPU then runs the same code
  const at::NoGradGuard no_grad;
  const at::Tensor logits = model.Forward(moved, context);
  if (logits.device() != device) {
    return absl::InternalError(absl::StrCat("the logits are on ", logits.device().str()));
  }
  const double logit_error = RelativeError(logits, expected);
  ASSIGN_OR_RETURN(const double attention_error, AttentionError(model, images.size(), tap, cpu_tap));
  const std::string figures = absl::StrFormat("logits off by %.1e, attention by %.1e; %d images, %d grids", logit_error,
                                              attention_error, images.size(), grids.size());
  if (logit_error <= kTolerance && attention_error <= kTolerance) return figures;
  return absl::InternalError(absl::StrFormat("%s; %.0e is allowed", figures, kTolerance));
}

absl::StatusOr<std::string> FormParity(const SmallForm& form, const CheckSetting& setting) {
  at::Generator random = at::detail::createCPUGenerator(7);
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, MakeModel(form.config, 7));
  Shake(*model, random);
  return Compare(*model, RandomInputs(*model, form, random), setting.torch_device());
}

absl::StatusOr<std::string> VersionParity(const VersionId& id, const CheckSetting& setting) {
  ASSIGN_OR_RETURN(const StoredVersion stored, ReadVersion(setting.repository, id));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, BuildModel(stored));
  ImageBatch images;
  for (const std::string& image : setting.images) {
    ASSIGN_OR_RETURN(const FloatArray input, DecodeGoldenInput(image, model->config().preprocessing()));
    images.push_back(TensorOf(input));
  }
  return Compare(*model, images, setting.torch_device());
}

}  // namespace

void CheckParity(const CheckSetting& setting, CheckReport& report) {
  for (const std::vector<SmallForm>& forms : {SmallForms(), SmallKvForms()}) {
    for (const SmallForm& form : forms) {
      report.Run(absl::StrCat("parity of ", form.name), [&] { return FormParity(form, setting); });
    }
  }
  for (const VersionId& id : setting.versions) {
    report.Run(absl::StrCat("parity of ", id.model, "/", id.version), [&] { return VersionParity(id, setting); });
  }
}

}  // namespace vitrine
