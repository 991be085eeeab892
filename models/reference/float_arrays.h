// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_FLOAT_ARRAYS_H_
#define VITRINE_MODELS_REFERENCE_FLOAT_ARRAYS_H_

#include <ATen/core/Tensor.h>

#include "models/float_array.h"

namespace vitrine {

// Returns a copy of a tensor of any type on any device, detached from autograd.
FloatArray FloatsOf(const at::Tensor& tensor);

// Returns an fp32 copy on the CPU; an undefined tensor if the array is empty.
at::Tensor TensorOf(const FloatArray& array);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_FLOAT_ARRAYS_H_
