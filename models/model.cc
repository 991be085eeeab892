// SPDX-License-Identifier: Apache-2.0
#include "models/model.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/families/family.h"
#include "models/layers/initializer.h"
#include "models/out_of_memory.h"

namespace vitrine {
namespace {

absl::StatusOr<std::unique_ptr<Model>> Make(const v1::ModelConfig& config, std::optional<uint64_t> seed,
                                            at::Device device) {
  ASSIGN_OR_RETURN(const Family* const family, CheckedFamilyOf(config));
  try {
    const at::NoGradGuard no_grad;
    Initializer initializer(seed, device);
    return family->make(config, initializer);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("building the ", family->name, " model failed: ", error.what()));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const v1::ModelConfig& config, uint64_t seed, at::Device device) {
  return Make(config, seed, device);
}

absl::StatusOr<std::unique_ptr<Model>> MakeBlankModel(const v1::ModelConfig& config) {
  return Make(config, std::nullopt, at::kCPU);
}

const AttentionAbility::Offer* AttentionAbility::Find(v1::AttentionKind kind) const {
  const auto found = std::find_if(offers.begin(), offers.end(), [&](const Offer& offer) { return offer.kind == kind; });
  return found == offers.end() ? nullptr : &*found;
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
