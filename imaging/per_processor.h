// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_PER_PROCESSOR_H_
#define VITRINE_IMAGING_PER_PROCESSOR_H_

// Before a function: its loops are compiled for AVX2 and for any processor, and the loader picks one. Sanitizers run
// before the loader's choice is made, so they get the plain one. No fused multiply-add is used in either, hence equal
// bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define VITRINE_PER_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define VITRINE_PER_PROCESSOR
#endif

#endif  // VITRINE_IMAGING_PER_PROCESSOR_H_
