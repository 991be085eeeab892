// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_GEMM_H_
#define VITRINE_REFERENCE_OPERATORS_GEMM_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// x W^T + b for x [m, k] fp32 or bf16, W [n, k] and b [n] fp32, b perhaps undefined. Differentiable in all three, once.
//
// On a CPU forward and backward run on oneDNN, whose kernels reach more than twice the rate of the BLAS behind
// at::linear on CPUs that are not Intel's. bf16 rounds the operands and each product of the three GEMMs to bf16; the
// result, rounded so, is of type `result`. Where oneDNN does not multiply bf16 the rounded numbers are multiplied as
// floats.
at::Tensor AffineMap(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16,
                     at::ScalarType result = at::kFloat);

// GELU(x W^T + b), exact GELU (by erf). Outside of gradients one pass does both where oneDNN takes the product.
at::Tensor AffineGelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16);

// The three products of a linear layer, for use inside of custom derivatives; not differentiable themselves. Operands
// are matrices of one type, fp32 or bf16, and contiguous; so is the result.
at::Tensor GemmNt(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});  // a b^T (+ bias)
at::Tensor GemmNn(const at::Tensor& a, const at::Tensor& b);                               // a b
at::Tensor GemmTn(const at::Tensor& a, const at::Tensor& b);                               // a^T b

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_GEMM_H_
