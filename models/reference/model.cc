// SPDX-License-Identifier: Apache-2.0
#include "models/reference/model.h"

#include <ATen/core/grad_mode.h>

#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/reference/initializer.h"
#include "models/reference/out_of_memory.h"
#include "models/reference/support.h"

namespace vitrine {
namespace {

at::Tensor Drawn(const program::Weight& weight, Initializer& initializer) {
  const double scale = weight.initial.scale;
  switch (weight.initial.kind) {
    case program::Initial::Kind::kConstant:
      return initializer.Constant(weight.shape, scale);
    case program::Initial::Kind::kNormal:
      return initializer.Normal(weight.shape, scale);
    case program::Initial::Kind::kTruncatedNormal:
      return initializer.TruncatedNormal(weight.shape, scale);
    case program::Initial::Kind::kUniform:
      return initializer.Uniform(weight.shape, scale);
  }
  return {};
}

absl::StatusOr<std::unique_ptr<Model>> Make(const v1::ModelConfig& config, std::optional<uint64_t> seed,
                                            at::Device device) {
  ASSIGN_OR_RETURN(ModelDescription description, ModelDescription::Make(config));
  RETURN_IF_ERROR(CheckSupported(description.program()));
  RETURN_IF_ERROR(cpu::ChosenPath().status());
  try {
    const at::NoGradGuard no_grad;
    Initializer initializer(seed, device);
    return std::make_unique<Model>(std::move(description), initializer);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("building the model failed: ", error.what()));
  }
}

}  // namespace

Model::Model(ModelDescription description, Initializer& initializer)
    : ModelDescription(std::move(description)), weights_(program().weights().size()), interpreter_(program()) {
  std::vector<at::Tensor> initial(weights_.size());
  for (const int place : program().drawing_order()) {
    initial[static_cast<size_t>(place)] = Drawn(program().weights()[static_cast<size_t>(place)], initializer);
  }
  for (size_t i = 0; i < weights_.size(); ++i) {
    const program::Weight& weight = program().weights()[i];
    if (weight.trained) {
      RegisterParameter(weight.name, weights_[i], std::move(initial[i]), weight.decays);
    } else {
      RegisterBuffer(weight.name, weights_[i], std::move(initial[i]));
    }
  }
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const v1::ModelConfig& config, uint64_t seed, at::Device device) {
  return Make(config, seed, device);
}

absl::StatusOr<std::unique_ptr<Model>> MakeBlankModel(const v1::ModelConfig& config) {
  return Make(config, std::nullopt, at::kCPU);
}

absl::StatusOr<at::Tensor> RunModel(const Model& model, const ImageBatch& images, AttentionTap* tap, TokenTap* tokens) {
  if (images.empty()) return absl::InvalidArgumentError("the batch has no image");
  const int channels = model.config().preprocessing().channels();
  for (size_t i = 0; i < images.size(); ++i) {
    if (images[i].dim() != 3 || images[i].size(0) != channels || images[i].scalar_type() != at::kFloat) {
      return absl::InvalidArgumentError(absl::StrCat("image ", i, " of the batch is not an fp32 tensor of ", channels,
                                                     " channels, rows and columns"));
    }
    ASSIGN_OR_RETURN(const Grid grid,
                     model.GridFor(static_cast<int>(images[i].size(1)), static_cast<int>(images[i].size(2))));
    static_cast<void>(grid);
  }
  try {
    const at::NoGradGuard no_grad;
    ForwardContext context;
    context.tap = tap;
    context.tokens = tokens;
    return model.Forward(images, context);
  } catch (const std::exception& error) {
    if (IsOutOfMemory(error)) return absl::ResourceExhaustedError("there is not enough memory for the forward pass");
    return absl::InternalError(absl::StrCat("the forward pass failed: ", error.what()));
  }
}

}  // namespace vitrine
