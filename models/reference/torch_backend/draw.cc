// SPDX-License-Identifier: Apache-2.0
#include "models/reference/torch_backend/draw.h"

#include "common/status_macros.h"
#include "models/reference/float_arrays.h"
#include "models/reference/model.h"

namespace vitrine {

absl::StatusOr<std::vector<FloatArray>> DrawWeights(const v1::ModelConfig& config, uint64_t seed) {
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeModel(config, seed));
  std::vector<at::Tensor> drawn = model->weights();
  model.reset();
  std::vector<FloatArray> weights;
  for (at::Tensor& weight : drawn) {
    weights.push_back(FloatsOf(weight));
    weight.reset();  // frees the tensor, so that memory never holds much more than one model
  }
  return weights;
}

}  // namespace vitrine
