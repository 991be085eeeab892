// SPDX-License-Identifier: Apache-2.0
#include "reference/model.h"

#include <ATen/core/grad_mode.h>

#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/simd/chosen_path.h"
#include "base/status_macros.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/program/abilities.h"
#include "reference/initializer.h"
#include "reference/out_of_memory.h"
#include "reference/support.h"

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
  ASSIGN_OR_RETURN(program::Program program, ProgramOf(config));
  RETURN_IF_ERROR(CheckSupported(program));
  RETURN_IF_ERROR(cpu::ChosenPath().status());
  try {
    const at::NoGradGuard no_grad;
    Initializer initializer(seed, device);
    return std::make_unique<Model>(config, std::move(program), initializer);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("building the model failed: ", error.what()));
  }
}

}  // namespace

Model::Model(const v1::ModelConfig& config, program::Program program, Initializer& initializer)
    : config_(config), program_(std::move(program)), weights_(program_.weights().size()), interpreter_(program_) {
  std::vector<at::Tensor> initial(weights_.size());
  for (const int place : program_.drawing_order()) {
    initial[static_cast<size_t>(place)] = Drawn(program_.weights()[static_cast<size_t>(place)], initializer);
  }
  for (size_t i = 0; i < weights_.size(); ++i) {
    const program::Weight& weight = program_.weights()[i];
    if (weight.trained) {
      RegisterParameter(weight.name, weights_[i], std::move(initial[i]), weight.decays);
    } else {
      RegisterBuffer(weight.name, weights_[i], std::move(initial[i]));
    }
  }
}

absl::StatusOr<Grid> Model::GridFor(int height, int width) const {
  if (program_.cell() == 0) return Grid{1, 1};  // looks at no pixel
  return GridOfInput(config().preprocessing(), program_.cell(), height, width);
}

int Model::cell() const {
  const v1::Preprocessing& preprocessing = config().preprocessing();
  if (program_.cell() > 0) return program_.cell();
  return preprocessing.has_native() ? preprocessing.native().cell() : preprocessing.fixed().height();
}

AttentionAbility Model::attention() const {
  return program::AttentionOf(program_);
}

FeatureAbility Model::features() const {
  return program::FeaturesOf(program_);
}

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const v1::ModelConfig& config, uint64_t seed, at::Device device) {
  return Make(config, seed, device);
}

absl::StatusOr<std::unique_ptr<Model>> MakeBlankModel(const v1::ModelConfig& config) {
  return Make(config, std::nullopt, at::kCPU);
}

absl::StatusOr<at::Tensor> RunModel(const Model& model, const ImageBatch& images, AttentionTap* tap, TokenTap* tokens) {
  if (images.empty()) return absl::InvalidArgumentError("the batch holds no image");
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
