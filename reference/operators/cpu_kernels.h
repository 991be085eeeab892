// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REFERENCE_OPERATORS_CPU_KERNELS_H_
#define VITRINE_REFERENCE_OPERATORS_CPU_KERNELS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <type_traits>

#include "base/simd/bf16.h"
#include "reference/forward_context.h"
#include "reference/kernels/kernel_table.h"

namespace vitrine {

// The kernels of cpu::ChosenPath(), as it was when they were first asked for. Throws where VITRINE_ISA is wrong, which
// MakeModel refuses before.
const cpu::KernelTable& CpuKernels();

// Whether our own loops compute `x`, not the library: on a CPU, unless the context says otherwise.
inline bool RunsOnKernels(const at::Tensor& x, const ForwardContext& context) {
  return x.is_cpu() && !context.library_only;
}

// Whether our own derivatives are used for `x`: the same, with gradients.
inline bool UsesOwnDerivatives(const at::Tensor& x, const ForwardContext& context) {
  return RunsOnKernels(x, context) && at::GradMode::is_enabled();
}

// Whether a loop of ours that has no derivative computes `x`.
inline bool RunsWithoutGradient(const at::Tensor& x, const ForwardContext& context) {
  return RunsOnKernels(x, context) && !at::GradMode::is_enabled();
}

// The type of what a layer hands to the next product of matrices.
inline at::ScalarType OperandType(const at::Tensor& x, const ForwardContext& context) {
  return context.bf16 && UsesOwnDerivatives(x, context) ? at::kBFloat16 : at::kFloat;
}

// The elements as the kernels name them. A tensor of another type throws.
template <class E>
const E* Elements(const at::Tensor& x) {
  constexpr at::ScalarType kType = std::is_same_v<E, float> ? at::kFloat : at::kBFloat16;
  TORCH_CHECK(x.scalar_type() == kType, "a kernel is given ", x.scalar_type(), " in place of ", kType);
  return static_cast<const E*>(x.const_data_ptr());
}
template <class E>
E* MutableElements(const at::Tensor& x) {
  return const_cast<E*>(Elements<E>(x));
}

// body(kernels, element) with the kernels for tensors of this type and a value of their element's type.
template <class Body>
auto WithKernels(at::ScalarType type, const Body& body) {
  const cpu::TrainingTable& table = CpuKernels().training;
  return type == at::kBFloat16 ? body(table.bf16, cpu::Bf16{}) : body(table.fp32, float{});
}

}  // namespace vitrine

#endif  // VITRINE_REFERENCE_OPERATORS_CPU_KERNELS_H_
