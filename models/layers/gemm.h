#ifndef VITRINE_MODELS_LAYERS_GEMM_H_
#define VITRINE_MODELS_LAYERS_GEMM_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// x W^T + b for x [m, k], W [n, k] and b [n] or undefined; fp32 in and out. Differentiable in all three, once.
//
// On a CPU forward and backward run on oneDNN, whose kernels reach more than twice the rate of the BLAS behind
// at::linear on CPUs that are not Intel's. bf16 rounds the operands and each product of the three GEMMs to bf16.
at::Tensor AffineMap(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16);

// a b^T (+ bias) for a [m, k] and b [n, k], both fp32 or both bf16, of any strides; the result has their type.
// Not differentiable: for use inside of custom derivatives.
at::Tensor Gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias = {});

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_GEMM_H_
