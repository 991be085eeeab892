// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CHECKPOINT_STORED_TENSORS_H_
#define VITRINE_CHECKPOINT_STORED_TENSORS_H_

#include <ATen/core/Tensor.h>

#include "repository/stored_tensor.h"

namespace vitrine {

// The same bytes as a tensor on the CPU, which keeps them alive. Nobody may write to it: clone what is to be changed.
at::Tensor TensorOf(const StoredTensor& stored);

// The tensor's values as they would be stored: its own memory where it is contiguous on the CPU, and so not to be
// written to any more; else a copy. LibTorch's exception for a type that files do not hold.
StoredTensor StoredOf(const at::Tensor& tensor);

}  // namespace vitrine

#endif  // VITRINE_CHECKPOINT_STORED_TENSORS_H_
