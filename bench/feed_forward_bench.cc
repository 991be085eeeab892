// SPDX-License-Identifier: Apache-2.0
// The prepared feed-forward block against the reference layer, on one core: each round times both, one after the other,
// and the counters are taken over the rounds.
//
//   feed_forward_bench --benchmark_filter=avx512_fp32
//
//   ratio, ratio_low, ratio_high   time of the reference over time of the prepared form: median and quartiles
//   gflops                         of the prepared form's median, 2 per multiply-add of the two products
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "models/layers/feed_forward.h"
#include "models/layers/feed_forward_prepared.h"

namespace vitrine {
namespace {

// Time of this thread alone: a neighbour on the core costs both sides their place in the caches, but no time.
double Seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Work>
double SecondsPerCall(int64_t calls, const Work& work) {
  const double start = Seconds();
  for (int64_t i = 0; i < calls; ++i) work();
  return (Seconds() - start) / static_cast<double>(calls);
}

double Quantile(std::vector<double> values, double part) {
  const auto place = values.begin() + static_cast<int64_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

void Compare(benchmark::State& state, cpu::CpuPath path, cpu::Precision precision) {
  const int64_t width = state.range(0), tokens = state.range(1);
  Initializer initializer(1, at::kCPU);
  const FeedForward layer(static_cast<int>(width), static_cast<int>(4 * width), 1e-6, initializer);
  const auto prepared = PreparedFeedForward::Prepare(layer, path, precision);
  if (!prepared.ok()) return state.SkipWithError(std::string(prepared.status().message()).c_str());
  at::Tensor x = initializer.Normal({tokens, width}, 1);
  const PackedTokens packed{x, TokenLayout::Make({{1, static_cast<int>(tokens)}}, /*prefix_tokens=*/0)};
  std::vector<float> y(tokens * width);
  cpu::Workspace workspace(prepared->WorkspaceBytes());
  const cpu::View<const float> from = {x.const_data_ptr<float>(), tokens, width, width};
  const cpu::View<float> to = {y.data(), tokens, width, width};
  const auto run_reference = [&] {
    benchmark::DoNotOptimize(layer.Forward(packed, 0, {.bf16 = precision == cpu::Precision::kBf16}));
  };
  const auto run_prepared = [&] { prepared->Run(from, to, workspace); };

  const double flops = 2 * 2 * 4 * static_cast<double>(width * width * tokens);
  const int64_t calls = std::max<int64_t>(1, std::llround(2e9 / flops));  // about 10 ms a side
  SecondsPerCall(calls, run_reference);
  SecondsPerCall(calls, run_prepared);
  std::vector<double> ratios, times;
  for (auto _ : state) {
    const double reference = SecondsPerCall(calls, run_reference);
    const double mine = SecondsPerCall(calls, run_prepared);
    ratios.push_back(reference / mine);
    times.push_back(mine);
    state.SetIterationTime(mine);
  }
  state.counters["ratio"] = Quantile(ratios, 0.5);
  state.counters["ratio_low"] = Quantile(ratios, 0.25);
  state.counters["ratio_high"] = Quantile(ratios, 0.75);
  state.counters["gflops"] = flops / Quantile(times, 0.5) * 1e-9;
}

void RegisterAll() {
  for (cpu::CpuPath path : cpu::SupportedPaths()) {
    for (cpu::Precision precision : {cpu::Precision::kFp32, cpu::Precision::kBf16}) {
      if (!cpu::Supports(path, precision)) continue;
      const std::string name = std::string(Name(path)) + "_" + Name(precision);
      auto* compare =
          benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { Compare(state, path, precision); });
      compare->UseManualTime()->Iterations(25)->Unit(benchmark::kMicrosecond)->ArgNames({"width", "tokens"});
      for (int64_t width : {128, 192, 250, 384, 768}) compare->Args({width, 196});
      for (int64_t tokens : {1, 17, 65, 520, 1568}) compare->Args({250, tokens});
    }
  }
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const at::NoGradGuard no_grad;
  benchmark::Initialize(&argc, argv);
  vitrine::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
