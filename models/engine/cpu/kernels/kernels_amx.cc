// SPDX-License-Identifier: Apache-2.0
// bf16 and int8 products with AMX. For all other kernels, this path uses those of AVX-512. This file includes no
// library header with inline functions, because the linker could choose this file's copies of such functions for the
// whole program.
#include "models/engine/cpu/kernels/amx_gemm_kernel.h"
#include "models/engine/cpu/kernels/avx512_bf16.h"
#include "models/engine/cpu/kernels/avx512_int8.h"

namespace vitrine::engine {

const NarrowKernels kAmxBf16Kernels = AmxTableOf<Avx512Bf16>(NarrowTableOf<Avx512Bf16>());
const NarrowKernels kAmxInt8Kernels = AmxTableOf<Avx512Int8>(NarrowTableOf<Avx512Int8>());

}  // namespace vitrine::engine
