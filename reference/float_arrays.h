// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_FLOAT_ARRAYS_H_
#define VITRINE_REFERENCE_FLOAT_ARRAYS_H_

#include <ATen/core/Tensor.h>

#include "models/float_array.h"

namespace vitrine {

// A copy of the values, of any type and on any device, outside of autograd.
FloatArray FloatsOf(const at::Tensor& tensor);

// A copy of the values, fp32 on the CPU; undefined where the array is empty.
at::Tensor TensorOf(const FloatArray& array);

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_FLOAT_ARRAYS_H_
