// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_PER_PROCESSOR_H_
#define VITRINE_COMMON_IMAGING_PER_PROCESSOR_H_

// Attribute of a function whose loops are compiled for AVX2 and for any processor; the loader picks one. Sanitizers run
// before the loader's choice, so they get the generic one. Neither uses fused multiply-add, hence equal bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__clang__)
#define VITRINE_PER_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define VITRINE_PER_PROCESSOR
#endif

#endif  // VITRINE_COMMON_IMAGING_PER_PROCESSOR_H_
