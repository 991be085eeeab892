// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_LAYERS_CPU_KERNELS_H_
#define VITRINE_MODELS_LAYERS_CPU_KERNELS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "models/forward_context.h"
#include "models/kernels/cpu/bf16.h"
#include "models/kernels/cpu/kernel_table.h"

namespace vitrine {

// The kernels that a layer runs on `x` itself with: those of this CPU outside of gradients; null where the library is
// to do it, on other devices, with gradients or where the context says so.
inline const cpu::KernelTable* KernelsFor(const at::Tensor& x, const ForwardContext& context) {
  static const cpu::KernelTable* const kKernels = cpu::FindKernels(cpu::BestPath(), cpu::Precision::kFp32);
  return x.is_cpu() && !at::GradMode::is_enabled() && !context.library_only ? kKernels : nullptr;
}

// The fastest kernels of this CPU, for derivatives.
inline const cpu::KernelTable& TrainingKernelTable() {
  static const cpu::KernelTable* const kBf16 = cpu::FindKernels(cpu::BestPath(), cpu::Precision::kBf16);
  static const cpu::KernelTable* const kFp32 = cpu::FindKernels(cpu::BestPath(), cpu::Precision::kFp32);
  return kBf16 != nullptr ? *kBf16 : *kFp32;
}

// Whether the layers' own derivatives are used for `x`: with gradients on a CPU, unless the context says otherwise.
inline bool UsesOwnDerivatives(const at::Tensor& x, const ForwardContext& context) {
  return x.is_cpu() && at::GradMode::is_enabled() && !context.library_only;
}

// The type of what a layer hands to the next product of matrices.
inline at::ScalarType OperandType(const at::Tensor& x, const ForwardContext& context) {
  return context.bf16 && UsesOwnDerivatives(x, context) ? at::kBFloat16 : at::kFloat;
}

// The elements as the kernels name them.
template <class E>
const E* Elements(const at::Tensor& x) {
  return static_cast<const E*>(x.const_data_ptr());
}
template <class E>
E* MutableElements(const at::Tensor& x) {
  return static_cast<E*>(x.data_ptr());
}

// body(kernels, element) with the kernels for tensors of this type and a value of their element's type.
template <class Body>
auto WithKernels(at::ScalarType type, const Body& body) {
  const cpu::TrainingTable& table = TrainingKernelTable().training;
  return type == at::kBFloat16 ? body(table.bf16, cpu::Bf16{}) : body(table.fp32, float{});
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CPU_KERNELS_H_
