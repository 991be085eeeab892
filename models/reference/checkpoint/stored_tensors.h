// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_CHECKPOINT_STORED_TENSORS_H_
#define VITRINE_MODELS_REFERENCE_CHECKPOINT_STORED_TENSORS_H_

#include <ATen/core/Tensor.h>

#include "models/repository/files/stored_tensor.h"

namespace vitrine {

// Returns a CPU tensor that shares the bytes and keeps them alive. Clone it before writing to it.
at::Tensor TensorOf(const StoredTensor& stored);

// Returns the values of a tensor as a StoredTensor. Shares the memory of a contiguous CPU tensor, which must then not
// be written to. Copies any other tensor. Throws LibTorch's exception for a type that files cannot hold.
StoredTensor StoredOf(const at::Tensor& tensor);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_CHECKPOINT_STORED_TENSORS_H_
