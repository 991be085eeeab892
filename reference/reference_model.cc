// SPDX-License-Identifier: Apache-2.0
#include "reference/reference_model.h"

#include <ATen/core/grad_mode.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/layers/initializer.h"
#include "models/program/abilities.h"
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

}  // namespace

ReferenceModel::ReferenceModel(const v1::ModelConfig& config, program::Program program, Initializer& initializer)
    : Model(config), program_(std::move(program)), weights_(program_.weights().size()), interpreter_(program_) {
  std::vector<at::Tensor> initial(weights_.size());
  for (const int place : program_.drawing_order()) {
    initial[static_cast<size_t>(place)] = Drawn(program_.weights()[static_cast<size_t>(place)], initializer);
  }
  for (size_t i = 0; i < weights_.size(); ++i) {
    const program::Weight& weight = program_.weights()[i];
    if (weight.trained) {
      RegisterParameter(weight.name, weights_[i], std::move(initial[i]));
    } else {
      RegisterBuffer(weight.name, weights_[i], std::move(initial[i]));
    }
  }
}

absl::StatusOr<Grid> ReferenceModel::GridFor(int height, int width) const {
  if (program_.cell() == 0) return Grid{1, 1};  // looks at no pixel
  return GridOfInput(config().preprocessing(), program_.cell(), height, width);
}

int ReferenceModel::cell() const {
  const v1::Preprocessing& preprocessing = config().preprocessing();
  if (program_.cell() > 0) return program_.cell();
  return preprocessing.has_native() ? preprocessing.native().cell() : preprocessing.fixed().height();
}

AttentionAbility ReferenceModel::attention() const {
  return program::AttentionOf(program_);
}

FeatureAbility ReferenceModel::features() const {
  return program::FeaturesOf(program_);
}

absl::StatusOr<std::unique_ptr<Model>> MakeReferenceModel(const v1::ModelConfig& config, uint64_t seed) {
  ASSIGN_OR_RETURN(program::Program program, ProgramOf(config));
  RETURN_IF_ERROR(CheckSupported(program));
  try {
    const at::NoGradGuard no_grad;
    Initializer initializer(seed, at::kCPU);
    return std::make_unique<ReferenceModel>(config, std::move(program), initializer);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("building the model failed: ", error.what()));
  }
}

}  // namespace vitrine
