// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/report/code_geometry.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>

namespace vitrine {

CodeGeometry GeometryOf(const at::Tensor& codes) {
  const at::Tensor norms = at::linalg_vector_norm(codes, 2, 1);
  const at::Tensor directions = codes / norms.unsqueeze(1).clamp_min(1e-12);
  return {directions.matmul(directions.t()), norms};
}

}  // namespace vitrine
