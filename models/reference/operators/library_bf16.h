// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_LIBRARY_BF16_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_LIBRARY_BF16_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// Returns true if products of this tensor must be computed in fp32. This is so for a bf16 tensor on a CPU without
// AVX-512, because oneDNN cannot multiply bf16 there. LibTorch would reject some products and compute all others in
// scalar loops.
bool MultipliedAsFloats(const at::Tensor& tensor);

// Calls at::conv2d; all tensors have one type. If MultipliedAsFloats(x), computes in fp32 and rounds the result.
at::Tensor LibraryConvolution(const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias, int stride,
                              int padding);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_LIBRARY_BF16_H_
