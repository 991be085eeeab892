// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_LINEAR_H_
#define VITRINE_MODELS_KERNELS_CPU_LINEAR_H_

#include "models/kernels/cpu/packed_linear.h"
#include "models/kernels/cpu/view.h"

namespace vitrine::cpu {

enum class Activation { kNone, kGelu };

// What happens to x W^T + b while it is still in the first cache: first the activation, then the residual is added.
struct Epilogue {
  Activation activation = Activation::kNone;
  View<const float> residual = {};  // [rows, outputs], or without data for none
};

// y = epilogue(x W^T + b) for x [rows, inputs] and y [rows, outputs]. x is of the weights' precision.
//
// Any alignment and any strides; rows that Workspace lays out are the fastest. y may be the residual itself (same data,
// same stride); otherwise y overlaps nothing. For bf16 with an odd number of inputs the element after the last of each
// row of x is read and must be finite; rows written by a kernel have a zero there, so the stride of bf16 views is even.
//
// Each element of y is one chain of multiply-adds over the inputs from first to last, so it depends on its own row of x
// alone: never on the number of rows, their order or their place. Thread-safe; takes no memory and no locks.
void ApplyLinear(View<const float> x, const PackedLinear& linear, const Epilogue& epilogue, View<float> y);
void ApplyLinear(View<const Bf16> x, const PackedLinear& linear, const Epilogue& epilogue, View<float> y);
void ApplyLinear(View<const Bf16> x, const PackedLinear& linear, const Epilogue& epilogue, View<Bf16> y);

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_LINEAR_H_
