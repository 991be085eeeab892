// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_CHECKPOINT_STORED_TENSORS_H_
#define VITRINE_MODELS_REFERENCE_CHECKPOINT_STORED_TENSORS_H_

#include <ATen/core/Tensor.h>

#include "models/repository/files/stored_tensor.h"

namespace vitrine {

// Returns a CPU tensor that shares the bytes and keeps them alive. Clone it before writing to it.
at::Tensor TensorOf(const StoredTensor& stored);

// Returns the tensor's values in storage form. Shares memory if the tensor is contiguous and on the CPU; the tensor
// must then not be written to. Otherwise copies. Throws LibTorch's exception for a type that files cannot hold.
StoredTensor StoredOf(const at::Tensor& tensor);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_CHECKPOINT_STORED_TENSORS_H_
