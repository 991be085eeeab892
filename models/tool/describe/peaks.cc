// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/peaks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "common/simd/chosen_path.h"
#include "models/engine/cpu/aligned_floats.h"
#include "models/engine/cpu/instructions.h"

namespace vitrine {
namespace {

// Multiply-adds per try. A try is far shorter than a time slice of the operating system, so that at least one try is
// not interrupted.
constexpr int64_t kMultiplyAdds = 20'000'000;
constexpr int kMultiplyAddTries = 50;
constexpr int64_t kCacheFloats = (256 << 10) / sizeof(float);  // size: a quarter or half of an L2 cache
constexpr int64_t kMemoryFloats = (128 << 20) / sizeof(float);

double ShortestSeconds(int tries, absl::FunctionRef<void()> run) {
  using Clock = std::chrono::steady_clock;
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tries; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    shortest = std::min(shortest, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return shortest;
}

double ReadGbps(const engine::Kernels& kernels, int64_t count, int repeats) {
  const engine::AlignedFloats memory(count);
  const double seconds = ShortestSeconds(5, [&] {
    for (int i = 0; i < repeats; ++i) kernels.read(memory.data(), count);
  });
  return static_cast<double>(count) * sizeof(float) * repeats / seconds / 1e9;
}

}  // namespace

double CorePeaks::GflopsOf(Precision precision) const {
  return precision == Precision::kInt8 ? int8_gflops : precision == Precision::kBf16 ? bf16_gflops : gflops;
}

void CorePeaks::RaiseTo(const CorePeaks& other) {
  gflops = std::max(gflops, other.gflops);
  bf16_gflops = std::max(bf16_gflops, other.bf16_gflops);
  int8_gflops = std::max(int8_gflops, other.int8_gflops);
  cache_gbps = std::max(cache_gbps, other.cache_gbps);
  memory_gbps = std::max(memory_gbps, other.memory_gbps);
}

CorePeaks PeaksOfThisCore() {
  const engine::Instructions instructions =
      *engine::FindInstructions(cpu::ChosenPath().value_or(cpu::SupportedPaths().back()));
  const auto gflops = [&](Precision precision) {
    if (!instructions.Multiplies(precision)) return 0.0;
    const double seconds =
        ShortestSeconds(kMultiplyAddTries, [&] { instructions.MultiplyAdd(precision, kMultiplyAdds); });
    return 2.0 * kMultiplyAdds / seconds / 1e9;
  };
  return {.gflops = gflops(Precision::kFp32),
          .bf16_gflops = gflops(Precision::kBf16),
          .int8_gflops = gflops(Precision::kInt8),
          .cache_gbps = ReadGbps(*instructions.fp32, kCacheFloats, 200),
          .memory_gbps = ReadGbps(*instructions.fp32, kMemoryFloats, 1)};
}

}  // namespace vitrine
