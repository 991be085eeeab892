// SPDX-License-Identifier: Apache-2.0
// Functions by which kernels use the GPU: threads, barriers, memory, copies, products. Only this file has code for
// nvcc; other compilers get the same functions from emulated/, which runs kernels on a CPU for tests.
//
// Kernels are compiled without contraction of multiply-adds and with denormals flushed (-fmad=false -ftz=true), as on
// the CPU.
#ifndef VITRINE_MODELS_ENGINE_CUDA_DEVICE_DEVICE_H_
#define VITRINE_MODELS_ENGINE_CUDA_DEVICE_DEVICE_H_

#include <cstdint>

#ifndef __CUDACC__
#include "models/engine/cuda/emulated/device.h"
#else

#define VITRINE_DEVICE __device__ __forceinline__
#define VITRINE_TABLE __device__ const
// Unrolls a loop, so that the indices of arrays are constants and the compiler can keep these arrays in registers.
#define VITRINE_UNROLL _Pragma("unroll")
// Unrolls `count` iterations of a loop. A count of 1 prevents unrolling. In an unrolled loop, the compiler loads values
// of later iterations early, which needs more registers.
#define VITRINE_UNROLL_BY(count) VITRINE_PRAGMA(unroll count)
#define VITRINE_PRAGMA(text) _Pragma(#text)
// Defines a kernel: VITRINE_KERNEL(name, Arguments) { ... arguments ... }
#define VITRINE_KERNEL(name, Arguments) extern "C" __global__ void name(const __grid_constant__ Arguments arguments)
// Defines a kernel for blocks of `threads` threads. Limits the registers so that an SM holds `blocks` blocks.
#define VITRINE_BOUNDED_KERNEL(name, Arguments, threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Arguments arguments)

namespace vitrine::cuda {

// Pointers to global and shared memory.
template <class T>
using Global = T*;
template <class T>
using Shared = T*;

// Views memory as numbers of another type, so that one access reads or writes several numbers.
template <class To, class T>
VITRINE_DEVICE To* ViewAs(T* memory) {
  return reinterpret_cast<To*>(memory);
}

VITRINE_DEVICE int Thread() {
  return static_cast<int>(threadIdx.x);
}
VITRINE_DEVICE int Threads() {
  return static_cast<int>(blockDim.x);
}
VITRINE_DEVICE int Block() {
  return static_cast<int>(blockIdx.x);
}
VITRINE_DEVICE int Blocks() {
  return static_cast<int>(gridDim.x);
}
VITRINE_DEVICE void SyncBlock() {
  __syncthreads();
}
VITRINE_DEVICE void SyncWarp() {
  __syncwarp();
}
template <class T>
VITRINE_DEVICE T ShuffleXor(T value, int mask) {
  return __shfl_xor_sync(~0u, value, mask);
}
// Returns the `value` that lane `lane` of the warp passes to this call.
template <class T>
VITRINE_DEVICE T Shuffle(T value, int lane) {
  return __shfl_sync(~0u, value, lane);
}

// Returns `number`, but hides its value from the compiler. In a loop, the compiler then computes the values that depend
// on the result at each use. Otherwise it would compute them before the loop and keep them in registers.
VITRINE_DEVICE int Opaque(int number) {
  asm volatile("" : "+r"(number));
  return number;
}

// Returns the address that is `offset` bytes after the start of the block's dynamic shared memory.
template <class T>
VITRINE_DEVICE Shared<T> SharedMemory(int offset) {
  extern __shared__ __align__(16) unsigned char vitrine_shared[];
  return reinterpret_cast<T*>(vitrine_shared + offset);
}

VITRINE_DEVICE uint32_t SharedAddress(const void* place) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(place));
}

// Starts a copy of 16 bytes; both addresses must be aligned to 16 bytes. Writes zeros if `valid` is false. The copy is
// complete after WaitCopies for its group.
template <class T>
VITRINE_DEVICE void CopyAsync(Shared<T> to, Global<const T> from, bool valid = true) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(to)), "l"(from), "r"(valid ? 16 : 0)
               : "memory");
}
// Starts to load the 128 bytes at an address into the L2 cache.
template <class T>
VITRINE_DEVICE void Prefetch(Global<const T> from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}
// Ends the current group of copies and starts a new group.
VITRINE_DEVICE void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until all groups of copies of this thread, except the kLeft newest groups, are complete.
template <int kLeft>
VITRINE_DEVICE void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Loads four 8 x 8 matrices of 16-bit numbers. Lane i passes the address of row i % 8 of matrix i / 8; addresses must
// be aligned to 16 bytes. Each lane gets two numbers of each matrix, from row lane / 4, or from column lane / 4 if
// transposed.
template <class T>
VITRINE_DEVICE void LoadMatrices(uint32_t (&to)[4], Shared<const T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row))
               : "memory");
}
template <class T>
VITRINE_DEVICE void LoadMatricesTransposed(uint32_t (&to)[4], Shared<const T> row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(SharedAddress(row))
               : "memory");
}

// Computes d += a b for a [16, 16] and b [16, 8] of bf16.
VITRINE_DEVICE void MultiplyBf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Computes d += a b for a [16, 32] of unsigned bytes and b [32, 8] of signed bytes.
VITRINE_DEVICE void MultiplyBytes(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

VITRINE_DEVICE uint32_t BitsOf(float value) {
  return __float_as_uint(value);
}
VITRINE_DEVICE float FloatOf(uint32_t bits) {
  return __uint_as_float(bits);
}
// Returns two numbers rounded to bf16 (to nearest, ties to even), with `low` in the low half. NaN stays NaN.
VITRINE_DEVICE uint32_t PackBf16(float low, float high) {
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
VITRINE_DEVICE float Fma(float a, float b, float c) {
  return fmaf(a, b, c);
}
// Returns the larger number, or NaN if either is NaN.
VITRINE_DEVICE float MostOrNan(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}
VITRINE_DEVICE float Root(float value) {
  return sqrtf(value);
}
VITRINE_DEVICE float Round(float value) {
  return rintf(value);
}

}  // namespace vitrine::cuda

#endif  // __CUDACC__

namespace vitrine::cuda {

inline constexpr int kWarp = 32;

// Numbers that are loaded or stored by one access; aligned to their total size.
struct alignas(8) Float2 {
  float v[2];
};
struct alignas(16) Float4 {
  float v[4];
};
struct alignas(8) Words2 {
  uint32_t v[2];
};
struct alignas(16) Words4 {
  uint32_t v[4];
};

VITRINE_DEVICE int Lane() {
  return Thread() % kWarp;
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_DEVICE_DEVICE_H_
