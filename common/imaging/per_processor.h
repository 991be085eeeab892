// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_PER_PROCESSOR_H_
#define VITRINE_COMMON_IMAGING_PER_PROCESSOR_H_

// Attribute for a function with loops. The function is compiled for AVX2 and for any x86-64 processor; the loader picks
// one version. With sanitizers there is one version only, because the code that picks runs before the sanitizer is
// initialised. Both versions give equal bits, because neither uses fused multiply-add.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define VITRINE_PER_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define VITRINE_PER_PROCESSOR
#endif

#endif  // VITRINE_COMMON_IMAGING_PER_PROCESSOR_H_
