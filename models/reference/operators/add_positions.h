// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_ADD_POSITIONS_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_ADD_POSITIONS_H_

#include <ATen/TensorOperators.h>

#include <utility>
#include <vector>

#include "models/reference/operators/token_sequence.h"

namespace vitrine {

// Adds positions(grid), [tokens of an image, width], to the tokens of every image. Adds them to all images of a
// TokenLayout::Run at once. Pads the result with zero rows to `rows` rows.
template <class PositionsOf>
at::Tensor AddPositions(const PackedTokens& x, int64_t rows, const PositionsOf& positions) {
  std::vector<at::Tensor> runs;
  for (const TokenLayout::Run& run : x.layout->runs()) {
    const at::Tensor of_run = x.data.narrow(0, run.first_token, run.images * run.tokens_per_image)
                                  .view({run.images, run.tokens_per_image, x.data.size(1)});
    runs.push_back((of_run + positions(run.grid)).view({-1, x.data.size(1)}));
  }
  return JoinRuns(std::move(runs), rows);
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_ADD_POSITIONS_H_
