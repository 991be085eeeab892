// SPDX-License-Identifier: Apache-2.0
// bf16 and int8 products with AMX. All other kernels of this path are the AVX-512 kernels. This file includes no
// library header with inline functions. The linker keeps only one copy of an inline function for the whole program. A
// copy from this file could have AMX or AVX-512 instructions, so the program would crash on older CPUs.
#include "models/engine/cpu/kernels/amx_gemm_kernel.h"
#include "models/engine/cpu/kernels/avx512_bf16.h"
#include "models/engine/cpu/kernels/avx512_int8.h"

namespace vitrine::engine {

const NarrowKernels kAmxBf16Kernels = AmxTableOf<Avx512Bf16>(NarrowTableOf<Avx512Bf16>());
const NarrowKernels kAmxInt8Kernels = AmxTableOf<Avx512Int8>(NarrowTableOf<Avx512Int8>());

}  // namespace vitrine::engine
