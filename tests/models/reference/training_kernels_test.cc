// SPDX-License-Identifier: Apache-2.0
// Compares the training kernels of every instruction set of this CPU with the portable kernels. training_layers_test
// compares the chosen kernels with LibTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "common/simd/bf16.h"
#include "models/reference/kernels/kernel_table.h"

namespace vitrine::cpu {
namespace {

float Value(float x) {
  return x;
}
float Value(Bf16 x) {
  return ToFloat(x);
}

template <class E>
std::vector<E> Noise(int64_t count, uint32_t seed, float size = 1) {
  std::minstd_rand engine(seed);
  std::vector<E> values(count);
  for (E& value : values) {
    const float drawn = size * (static_cast<float>(engine()) / 1073741824.0f - 1);
    if constexpr (std::is_same_v<E, float>) {
      value = drawn;
    } else {
      value = ToBf16(drawn);
    }
  }
  return values;
}

class TrainingKernelsTest : public ::testing::TestWithParam<CpuPath> {
 protected:
  const TrainingTable& ours() const { return FindKernels(GetParam())->training; }
  static const TrainingTable& portable() { return kPortableKernels.training; }
  template <class E>
  static const TrainingKernels<E>& Of(const TrainingTable& table) {
    if constexpr (std::is_same_v<E, float>) {
      return table.fp32;
    } else {
      return table.bf16;
    }
  }

  // Calls `run` with the tested kernels and with the portable kernels, and compares all values that `run` returns.
  template <class E, class Run>
  void Compare(const char* what, const Run& run) {
    const std::vector<float> a = run(Of<E>(ours())), b = run(Of<E>(portable()));
    ASSERT_EQ(a.size(), b.size());
    const double tolerance = std::is_same_v<E, float> ? 2e-5 : 0.02;
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << what << ", value " << i;
    }
  }
};

template <class... Vectors>
std::vector<float> Values(const Vectors&... vectors) {
  std::vector<float> all;
  (std::transform(vectors.begin(), vectors.end(), std::back_inserter(all), [](auto x) { return Value(x); }), ...);
  return all;
}

constexpr int64_t kRows = 11;

template <class E>
std::vector<float> NormBothWays(const TrainingKernels<E>& kernels, int64_t columns) {
  const auto x = Noise<float>(kRows * columns, 1, 3), weight = Noise<float>(columns, 2),
             bias = Noise<float>(columns, 3);
  const auto dy = Noise<E>(kRows * columns, 4);
  std::vector<E> y(kRows * columns);
  std::vector<float> statistics(2 * kRows), dx(kRows * columns), dweight(columns, 0.5f), dbias(columns, 0.25f);
  const View<const float> rows = {x.data(), kRows, columns, columns};
  kernels.norm({rows, 1e-6f, weight.data(), bias.data(), y.data(), statistics.data()});
  kernels.norm_gradient({rows, weight.data(), statistics.data(), dy.data(), dx.data(), dweight.data(), dbias.data()});
  return Values(y, dx, dweight, dbias);
}

template <class E>
std::vector<float> BranchBothWays(const TrainingKernels<E>& kernels, int64_t columns, bool scaled) {
  const auto x = Noise<float>(kRows * columns, 1), scale = Noise<float>(columns, 2),
             dz = Noise<float>(kRows * columns, 3);
  const auto y = Noise<E>(kRows * columns, 4);
  const float* const factors = scaled ? scale.data() : nullptr;
  std::vector<float> z(kRows * columns), dscale(columns, 0.5f), sums(columns, 0.5f);
  std::vector<E> dy(kRows * columns);
  kernels.add_branch({kRows, columns, x.data(), factors, y.data(), z.data()});
  kernels.branch_gradient({kRows, columns, dz.data(), factors, y.data(), dy.data(), dscale.data()});
  kernels.column_sums({y.data(), kRows, columns, columns}, sums.data());
  return Values(z, dy, dscale, sums);
}

template <class E>
std::vector<float> ColumnNormBothWays(const TrainingKernels<E>& kernels, int64_t columns, bool gelu) {
  const auto x = Noise<E>(kRows * columns, 1), dy = Noise<E>(kRows * columns, 2);
  const auto mean = Noise<float>(columns, 3), weight = Noise<float>(columns, 4), bias = Noise<float>(columns, 5);
  const std::vector<float> inverse(columns, 1.5f);
  std::vector<E> y(kRows * columns), dx(kRows * columns);
  std::vector<float> dweight(columns, 0.0f), dbias(columns, 0.0f), squares(columns, 0.5f);
  const ColumnNormCall<E> call = {kRows,         columns,     x.data(), mean.data(), inverse.data(),
                                  weight.data(), bias.data(), gelu,     y.data()};
  kernels.column_norm(call);
  kernels.column_norm_sums({call, dy.data(), dx.data(), dweight.data(), dbias.data()});
  kernels.column_norm_gradient({call, dy.data(), dx.data(), dweight.data(), dbias.data()});
  kernels.column_squares({x.data(), kRows, columns, columns}, mean.data(), squares.data());
  return Values(y, dx, dweight, dbias, squares);
}

template <class E>
std::vector<float> GeluBothWays(const TrainingKernels<E>& kernels, int64_t count) {
  const auto x = Noise<E>(count, 1, 8), dy = Noise<E>(count, 2);
  std::vector<E> y(count), dx(count);
  kernels.gelu(x.data(), y.data(), count);
  kernels.gelu_gradient(x.data(), dy.data(), dx.data(), count);
  return Values(y, dx);
}

template <class E>
std::vector<float> AttentionBothWays(const TrainingKernels<E>& kernels, int64_t tokens, int64_t width) {
  constexpr int64_t kHeads = 3;
  const int64_t row = kHeads * width;
  const auto qkv = Noise<E>(tokens * 3 * row, 1, 2), dout = Noise<E>(tokens * row, 2);
  std::vector<E> out(tokens * row), dqkv(tokens * 3 * row);
  std::vector<float> scratch(AttentionScratch(tokens, width));
  const AttentionCall<E> call = {.q = qkv.data(),
                                 .k = qkv.data() + row,
                                 .v = qkv.data() + 2 * row,
                                 .stride = 3 * row,
                                 .tokens = tokens,
                                 .heads = kHeads,
                                 .width = width,
                                 .scale = 0.7f,
                                 .out = out.data(),
                                 .out_stride = row,
                                 .scratch = scratch.data()};
  kernels.attention(call);
  kernels.attention_gradient({call, dout.data(), dqkv.data(), dqkv.data() + row, dqkv.data() + 2 * row, 3 * row});
  return Values(out, dqkv);
}

template <class E>
std::vector<float> ChannelAttentionBothWays(const TrainingKernels<E>& kernels, int64_t tokens, int64_t width) {
  constexpr int64_t kHeads = 3;
  const int64_t row = kHeads * width;
  const auto q = Noise<E>(tokens * row, 1), k = Noise<E>(tokens * row, 2), v = Noise<E>(tokens * row, 3);
  const auto dout = Noise<E>(tokens * row, 4);
  const std::vector<float> temperature = {1, 0.5f, 2};
  std::vector<E> out(tokens * row), dq(tokens * row), dk(tokens * row), dv(tokens * row);
  std::vector<float> scratch(ChannelAttentionScratch(tokens, width)), dtemperature(kHeads, 0.5f);
  const ChannelAttentionCall<E> call = {.q = q.data(),
                                        .k = k.data(),
                                        .v = v.data(),
                                        .q_stride = row,
                                        .k_stride = row,
                                        .v_stride = row,
                                        .tokens = tokens,
                                        .heads = kHeads,
                                        .width = width,
                                        .temperature = temperature.data(),
                                        .least_norm = 1e-12f,
                                        .out = out.data(),
                                        .scratch = scratch.data()};
  kernels.channel_attention(call);
  kernels.channel_attention_gradient({call, dout.data(), dq.data(), dk.data(), dv.data(), dtemperature.data()});
  return Values(out, dq, dk, dv, dtemperature);
}

TEST_P(TrainingKernelsTest, RowKernelsEqualThePortableOnes) {
  for (const int64_t columns : {3, 16, 45, 128}) {
    Compare<float>("norm", [&](const auto& kernels) { return NormBothWays(kernels, columns); });
    Compare<Bf16>("norm", [&](const auto& kernels) { return NormBothWays(kernels, columns); });
    for (const bool scaled : {false, true}) {
      Compare<float>("branch", [&](const auto& kernels) { return BranchBothWays(kernels, columns, scaled); });
      Compare<Bf16>("branch", [&](const auto& kernels) { return BranchBothWays(kernels, columns, scaled); });
      Compare<float>("columns", [&](const auto& kernels) { return ColumnNormBothWays(kernels, columns, scaled); });
      Compare<Bf16>("columns", [&](const auto& kernels) { return ColumnNormBothWays(kernels, columns, scaled); });
    }
    Compare<float>("GELU", [&](const auto& kernels) { return GeluBothWays(kernels, columns * 5); });
    Compare<Bf16>("GELU", [&](const auto& kernels) { return GeluBothWays(kernels, columns * 5); });
  }
}

TEST_P(TrainingKernelsTest, AttentionEqualsThePortableKernel) {
  for (const int64_t tokens : {1, 7, 16, 65}) {
    for (const int64_t width : {1, 5, 16, 25}) {
      Compare<float>("attention", [&](const auto& kernels) { return AttentionBothWays(kernels, tokens, width); });
      Compare<Bf16>("attention", [&](const auto& kernels) { return AttentionBothWays(kernels, tokens, width); });
    }
  }
}

TEST_P(TrainingKernelsTest, ChannelAttentionEqualsThePortableKernel) {
  for (const int64_t tokens : {2, 7, 49}) {
    for (const int64_t width : {2, 5, 16, 32}) {
      Compare<float>("channels", [&](const auto& kernels) { return ChannelAttentionBothWays(kernels, tokens, width); });
      Compare<Bf16>("channels", [&](const auto& kernels) { return ChannelAttentionBothWays(kernels, tokens, width); });
    }
  }
}

TEST_P(TrainingKernelsTest, DepthwiseGradientEqualsThePortableKernel) {
  for (const int64_t channels : {3, 16, 40}) {
    const auto x = Noise<float>(20 * channels, 1), dy = Noise<float>(20 * channels, 2);
    const auto run = [&](const TrainingTable& table) {
      std::vector<float> dweights(9 * channels, 0.5f), dbias(channels, 0.25f);
      const std::vector<float> zeros(channels, 0.0f);
      std::vector<const float*> taps(9 * 20);
      table.depthwise_gradient(
          {x.data(), dy.data(), 4, 5, channels, zeros.data(), taps.data(), dweights.data(), dbias.data()});
      return Values(dweights, dbias);
    };
    const std::vector<float> a = run(ours()), b = run(portable());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, TrainingKernelsTest, ::testing::ValuesIn(SupportedPaths()),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace vitrine::cpu
