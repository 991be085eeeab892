// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_GELU_CUH_
#define VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_GELU_CUH_

#include "models/engine/cuda/kernels/numbers.cuh"

namespace vitrine::cuda {

// The table of NarrowGelu in shared memory. NarrowGelu is a polynomial per piece of its input range. Each coefficient
// of piece i is in bank i, so lanes have no bank conflicts.
class GeluTable {
 public:
  static constexpr int kBytes = 3 * engine::kPieces * static_cast<int>(sizeof(float));

  // Writes the table. All threads of the block must call the constructor. Reads must follow the next SyncBlock.
  VITRINE_DEVICE explicit GeluTable(int shared_offset) : table_(SharedMemory<float>(shared_offset)) {
    for (int i = Thread(); i < 3 * engine::kPieces; i += Threads()) {
      table_[i] = kGeluPieces.narrow[i / engine::kPieces][i % engine::kPieces];
    }
  }

  // Returns NarrowGelu(x), with the same bits.
  VITRINE_DEVICE float Of(float x) const {
    constexpr float kWidth = engine::NarrowPieces::kWidth, kBelow = engine::NarrowPieces::kBelow;
    constexpr float kInverse = 1 / kWidth, kTop = kWidth * engine::NarrowPieces::kAbove;
    const float inside = Least(Most(x, -kWidth * kBelow), kTop);
    const int i = static_cast<int>(BitsOf(Fma(inside, kInverse, kWholeNumbers + kBelow)) % engine::kPieces);
    const float slope = Fma(x, table_[2 * engine::kPieces + i], table_[engine::kPieces + i]);
    return Fma(x, slope, table_[i]);
  }
  VITRINE_DEVICE float Activated(float x, Activation activation) const {
    if (activation == Activation::kGelu) return Of(x);
    return activation == Activation::kRelu ? Most(0, x) : x;
  }

 private:
  const Shared<float> table_;
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_KERNELS_FAST_GELU_CUH_
