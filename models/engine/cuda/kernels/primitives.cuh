// SPDX-License-Identifier: Apache-2.0
// Runs single operations of the kernels. vitrine-gpu-check compares the results with those of the emulator.
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_PRIMITIVES_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_PRIMITIVES_CUH_

#include "models/engine/cuda/kernels/batch.cuh"

namespace vitrine::cuda {

VITRINE_KERNEL(vitrine_primitive_floats, PrimitiveFloatsArguments) {
  const Global<const float> a(arguments.a), b(arguments.b), c(arguments.c);
  const Global<uint32_t> y(arguments.y);
  const int count = arguments.count;
  ForOutputs(count, [&](int64_t i) {
    const float x = a[i], z = b[i], w = c[i];
    y[i] = BitsOf(Fma(x, z, w));
    y[i + count] = BitsOf(x / z);
    y[i + 2 * count] = BitsOf(Root(x));
    y[i + 3 * count] = BitsOf(x * z + w);
    y[i + 4 * count] = PackBf16(x, z);
    y[i + 5 * count] = BitsOf(Round(x));
  });
}

// Computes one product per warp: copies both matrices to shared memory, loads fragments from there and multiplies them.
VITRINE_KERNEL(vitrine_primitive_products, PrimitiveProductsArguments) {
  const int lane = Lane();
  const Shared<uint16_t> left = SharedMemory<uint16_t>(0), right = SharedMemory<uint16_t>(kPrimitiveBytes);
  for (int product = Block(); product < arguments.count; product += Blocks()) {
    // A row of 32 bytes consists of two chunks of 16 bytes.
    CopyAsync(left + lane * 8, Global<const uint16_t>(arguments.a + int64_t{product} * 256) + lane * 8);
    CopyAsync(right + lane * 8, Global<const uint16_t>(arguments.b + int64_t{product} * 256) + lane * 8);
    CommitCopies();
    WaitCopies<0>();
    SyncWarp();
    uint32_t a[4], b[4];
    LoadMatrices(a, left + (lane % 16 * 16 + lane / 16 * 8));
    const Global<const uint32_t> c(arguments.c + int64_t{product} * 256);
    const Global<uint32_t> y(arguments.y + int64_t{product} * 256);
    const int first = lane / 4 * 16 + lane % 4 * 2;  // first of four numbers: two rows of two columns
    if (arguments.bytes) {
      LoadMatrices(b, right + ((lane % 8 + lane / 16 * 8) * 16 + lane / 8 % 2 * 8));
    } else {
      LoadMatricesTransposed(b, right + (lane % 16 * 16 + lane / 16 * 8));
    }
    for (int half = 0; half < 2; ++half) {
      const uint32_t of_half[2] = {b[2 * half], b[2 * half + 1]};
      float floats[4];
      int32_t integers[4];
      for (int i = 0; i < 4; ++i) {
        const uint32_t bits = c[first + half * 8 + i / 2 * 128 + i % 2];
        floats[i] = FloatOf(bits);
        integers[i] = static_cast<int32_t>(bits);
      }
      if (arguments.bytes) {
        MultiplyBytes(integers, a, of_half);
      } else {
        MultiplyBf16(floats, a, of_half);
      }
      for (int i = 0; i < 4; ++i) {
        y[first + half * 8 + i / 2 * 128 + i % 2] =
            arguments.bytes ? static_cast<uint32_t>(integers[i]) : BitsOf(floats[i]);
      }
    }
    SyncWarp();
  }
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_PRIMITIVES_CUH_
