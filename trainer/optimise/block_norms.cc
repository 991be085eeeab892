// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/block_norms.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>

#include "trainer/optimise/blocks.h"

namespace vitrine {

std::vector<double> BlockNorms(const std::vector<NamedTensor>& parameters) {
  const at::AutoGradMode no_grad(false);
  const std::vector<std::string> blocks = BlocksOf(parameters);
  std::vector<double> norms(blocks.size(), 0);
  for (const NamedTensor& parameter : parameters) {
    const auto block = std::ranges::find(blocks, BlockOf(parameter.name));
    if (block == blocks.end() || !parameter.tensor.grad().defined()) continue;
    double& norm = norms[static_cast<size_t>(block - blocks.begin())];
    norm = std::hypot(norm, at::linalg_vector_norm(parameter.tensor.grad()).item<double>());
  }
  return norms;
}

}  // namespace vitrine
