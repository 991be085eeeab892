// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_CPU_KERNELS_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_CPU_KERNELS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <type_traits>

#include "common/simd/bf16.h"
#include "models/reference/forward_context.h"
#include "models/reference/kernels/kernel_table.h"

namespace vitrine {

// Returns the kernels of the CpuPath that cpu::ChosenPath() chooses. The first call of this function fixes the choice.
// Throws if VITRINE_ISA is invalid; MakeModel checks the variable first.
const cpu::KernelTable& CpuKernels();

// Returns true if our own loops, and not the library, process `x`: on a CPU, unless the context disables the loops.
inline bool RunsOnKernels(const at::Tensor& x, const ForwardContext& context) {
  return x.is_cpu() && !context.library_only;
}

// Returns true if our own derivatives are used for `x`: our own loops process it, and gradients are enabled.
inline bool UsesOwnGradients(const at::Tensor& x, const ForwardContext& context) {
  return RunsOnKernels(x, context) && at::GradMode::is_enabled();
}

// Returns true if loops that have no derivative may process `x`: our own loops process it, and gradients are disabled.
inline bool RunsWithoutGradient(const at::Tensor& x, const ForwardContext& context) {
  return RunsOnKernels(x, context) && !at::GradMode::is_enabled();
}

// Returns the type in which a layer passes values to the next matrix product.
inline at::ScalarType OperandType(const at::Tensor& x, const ForwardContext& context) {
  return context.bf16 && UsesOwnGradients(x, context) ? at::kBFloat16 : at::kFloat;
}

// Returns a pointer to the elements, as the kernels' element type E. Throws for a tensor of another type.
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

// Calls body(kernels, element) with the kernels for `type` and a value of the kernels' element type, from which `body`
// infers the type.
template <class Body>
auto WithKernels(at::ScalarType type, const Body& body) {
  const cpu::TrainingTable& table = CpuKernels().training;
  return type == at::kBFloat16 ? body(table.bf16, cpu::Bf16{}) : body(table.fp32, float{});
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_CPU_KERNELS_H_
