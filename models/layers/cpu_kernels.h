#ifndef VITRINE_MODELS_LAYERS_CPU_KERNELS_H_
#define VITRINE_MODELS_LAYERS_CPU_KERNELS_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "models/forward_context.h"
#include "models/kernels/cpu/kernel_table.h"

namespace vitrine {

// The kernels that a layer runs on `x` itself with: those of this CPU outside of gradients; null where the library is
// to do it, on other devices, with gradients or where the context says so.
inline const cpu::KernelTable* KernelsFor(const at::Tensor& x, const ForwardContext& context) {
  static const cpu::KernelTable* const kKernels = cpu::FindKernels(cpu::BestPath(), cpu::Precision::kFp32);
  return x.is_cpu() && !at::GradMode::is_enabled() && !context.library_only ? kKernels : nullptr;
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_LAYERS_CPU_KERNELS_H_
