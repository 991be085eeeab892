// SPDX-License-Identifier: Apache-2.0
#include "models/reference/float_arrays.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace vitrine {

FloatArray FloatsOf(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* first = flat.const_data_ptr<float>();
  return {.shape = flat.sizes().vec(), .values = {first, first + flat.numel()}};
}

at::Tensor TensorOf(const FloatArray& array) {
  if (array.empty()) return {};
  const at::Tensor tensor = at::empty(array.shape, at::kFloat);
  std::copy(array.values.begin(), array.values.end(), tensor.mutable_data_ptr<float>());
  return tensor;
}

}  // namespace vitrine
