// SPDX-License-Identifier: Apache-2.0
#include "models/kernels/cpu/linear.h"

#include <cassert>

#include "models/kernels/cpu/kernel_table.h"

namespace vitrine::cpu {
namespace {

template <typename X, typename Y>
void Apply(View<const X> x, const PackedLinear& linear, const Epilogue& epilogue, View<Y> y) {
  assert(x.columns == linear.inputs() && y.columns == linear.outputs() && x.rows == y.rows);
  assert(epilogue.residual.data == nullptr ||
         (epilogue.residual.rows == y.rows && epilogue.residual.columns == y.columns));
  assert((linear.kernels().precision == Precision::kFp32) == (sizeof(X) == sizeof(float)));
  linear.kernels().linear({.a = x.data,
                           .a_stride = x.stride,
                           .rows = x.rows,
                           .inputs = linear.inputs(),
                           .outputs = linear.outputs(),
                           .panels = linear.panels(),
                           .bias = linear.bias(),
                           .gelu = epilogue.activation == Activation::kGelu,
                           .residual = epilogue.residual.data,
                           .residual_stride = epilogue.residual.stride,
                           .y = y.data,
                           .y_stride = y.stride,
                           .y_is_bf16 = sizeof(Y) == sizeof(Bf16)});
}

}  // namespace

void ApplyLinear(View<const float> x, const PackedLinear& linear, const Epilogue& epilogue, View<float> y) {
  Apply(x, linear, epilogue, y);
}

void ApplyLinear(View<const Bf16> x, const PackedLinear& linear, const Epilogue& epilogue, View<float> y) {
  Apply(x, linear, epilogue, y);
}

void ApplyLinear(View<const Bf16> x, const PackedLinear& linear, const Epilogue& epilogue, View<Bf16> y) {
  Apply(x, linear, epilogue, y);
}

}  // namespace vitrine::cpu
