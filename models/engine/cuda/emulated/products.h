// SPDX-License-Identifier: Apache-2.0
// Products of a warp's matrix instructions: which lane holds which elements, and how sums are rounded.
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_PRODUCTS_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_PRODUCTS_H_

#include <array>
#include <cstdint>
#include <random>
#include <span>

namespace vitrine::cuda::emulated {

// Model of how a tensor instruction rounds the sum of its products and its addend to fp32. NVIDIA does not document the
// rounding. Therefore kernels must be accurate under every model. If two kernels must give the same bits, they must do
// so under every model. The models are from arXiv 2511.10909; kSm90 was measured on an H200.
enum class RoundingModel {
  kNearest,  // exact sum, rounded to nearest
  // two sums of 8 products each; terms are truncated 24 bits below the largest exponent, the sum is rounded towards
  // zero
  kSm80,
  // one sum of 16 products; terms are truncated 25 bits below the largest exponent, the sum is rounded towards zero
  kSm90,
  kRandom,  // exact sum, rounded up or down at random
};
inline constexpr RoundingModel kRoundingModels[] = {RoundingModel::kNearest, RoundingModel::kSm80, RoundingModel::kSm90,
                                                    RoundingModel::kRandom};

// Returns the sum of c and all products a[i] * b[i]; `a` and `b` hold 16 bf16 numbers each.
float SumOfProducts(std::span<const uint16_t, 16> a, std::span<const uint16_t, 16> b, float c, RoundingModel model,
                    std::mt19937_64& random);

// Registers of the 32 lanes: in each lane, four registers of the matrix `a`, then two of the matrix `b`.
using Fragments = std::span<const std::array<uint32_t, 6>, 32>;

// Add a lane's four elements of the matrix product of `a` and `b` to `d`. For bf16, `a` is [16, 16] and `b` is [16, 8].
// For bytes, `a` is [16, 32] and unsigned, and `b` is [32, 8] and signed.
void AddProductBf16(Fragments fragments, int lane, RoundingModel model, std::mt19937_64& random, float (&d)[4]);
void AddProductBytes(Fragments fragments, int lane, int32_t (&d)[4]);

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_PRODUCTS_H_
