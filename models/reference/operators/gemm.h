// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_GEMM_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_GEMM_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// Returns x W^T + b for x [m, k] fp32 or bf16, W [n, k] and b [n] fp32; b may be undefined. Differentiable once, with
// respect to x, W and b.
//
// On a CPU, if LibTorch has oneDNN, oneDNN computes all products except small products. On non-Intel CPUs oneDNN is
// more than twice as fast as the BLAS behind at::linear. With bf16, the operands and results of the three matrix
// products (one forward, two backward) are rounded to bf16; the result has type `result`. If oneDNN cannot multiply
// bf16, the rounded numbers are multiplied in fp32.
at::Tensor AffineMap(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16,
                     at::ScalarType result = at::kFloat);

// Returns GELU(x W^T + b) with exact GELU (by erf). In fp32 without gradients, the product and GELU are one
// pass if oneDNN computes the product.
at::Tensor AffineGelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16);

// Returns one of the three products of a linear layer, for custom derivatives. These functions are not differentiable.
// Operands and result are contiguous matrices of one type, fp32 or bf16.
at::Tensor GemmNt(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});  // a b^T (+ bias)
at::Tensor GemmNn(const at::Tensor& a, const at::Tensor& b);                               // a b
at::Tensor GemmTn(const at::Tensor& a, const at::Tensor& b);                               // a^T b

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_GEMM_H_
