// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/kernels/image.h"

#ifdef VITRINE_CUDA_IMAGE
asm(".section .rodata\n"
    ".balign 64\n"
    ".globl vitrine_cuda_image\n"
    "vitrine_cuda_image:\n"
    ".incbin \"" VITRINE_CUDA_IMAGE
    "\"\n"
    ".byte 0\n"
    ".previous\n");
#else
const char vitrine_cuda_image[] = "built without nvcc";
#endif
