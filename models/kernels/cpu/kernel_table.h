#ifndef VITRINE_MODELS_KERNELS_CPU_KERNEL_TABLE_H_
#define VITRINE_MODELS_KERNELS_CPU_KERNEL_TABLE_H_

#include <cstdint>

#include "models/kernels/cpu/cpu_path.h"
#include "models/kernels/cpu/view.h"

namespace vitrine::cpu {

// One call of a linear kernel; linear.h states the contract. `a` is of the weights' precision.
struct LinearCall {
  const void* a;
  int64_t a_stride;
  int64_t rows;
  int64_t inputs;
  int64_t outputs;
  const void* panels;
  const float* bias;
  bool gelu;
  const float* residual;  // null: none
  int64_t residual_stride;
  void* y;
  int64_t y_stride;
  bool y_is_bf16;
};

// The kernels of one path and precision. Tables are constants that live in the file built for their instruction set.
struct KernelTable {
  CpuPath path;
  Precision precision;
  int panel_columns;   // outputs that a panel of packed weights holds
  int vector_columns;  // the last panel is as wide as its outputs rounded up to this
  void (*linear)(const LinearCall& call);
  void (*normalize_rows)(View<const float> x, float epsilon, void* y, int64_t y_stride);
  void (*gelu)(const float* x, float* y, int64_t count);
};

// Null where this CPU cannot run it.
const KernelTable* FindKernels(CpuPath path, Precision precision);

extern const KernelTable kPortableFp32;
#if defined(__x86_64__)
extern const KernelTable kAvx2Fp32;
extern const KernelTable kAvx512Fp32;
extern const KernelTable kAvx512Bf16;
#endif

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_KERNEL_TABLE_H_
