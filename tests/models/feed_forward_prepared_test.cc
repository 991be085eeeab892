// SPDX-License-Identifier: Apache-2.0
// The prepared feed-forward block against the reference layer, and its contracts: batch invariance, no allocation.
#include "models/layers/feed_forward_prepared.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <thread>

#include "models/layers/feed_forward.h"
#include "tests/models/kernel_testing.h"

namespace {
std::atomic<int64_t> allocations = 0;
}  // namespace

// Counts what the hot path must not do.
[[gnu::noinline]] void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto multiple = static_cast<size_t>(alignment);
  if (void* const memory = std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

namespace vitrine {
namespace {

using cpu::Matrix;
using cpu::Precision;
using cpu::SameBits;
using cpu::Variant;
using cpu::View;
using cpu::Workspace;

// A layer whose every parameter matters: scales about 1, shifts and biases about 0.3, weights that keep the variance.
std::unique_ptr<FeedForward> MakeLayer(int width, int hidden) {
  Initializer initializer(1, at::kCPU);
  auto layer = std::make_unique<FeedForward>(width, hidden, 1e-6, initializer);
  uint64_t sequence = 100;
  for (NamedTensor& parameter : layer->Parameters()) {
    const bool matrix = parameter.tensor.dim() == 2;
    const float size = matrix ? std::sqrt(3.f / static_cast<float>(parameter.tensor.size(1))) : 0.5f;
    const float center = parameter.name == "norm.weight" ? 1 : 0;
    float* const values = parameter.tensor.data_ptr<float>();
    for (int64_t i = 0; i < parameter.tensor.numel(); ++i) values[i] = center + size * cpu::Noise(sequence, i);
    ++sequence;
  }
  return layer;
}

PreparedFeedForward Prepare(const FeedForward& layer, const Variant& variant) {
  auto prepared = PreparedFeedForward::Prepare(layer, variant.path, variant.precision);
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  return std::move(prepared).value();
}

void Reference(const FeedForward& layer, Matrix<float>& x, Matrix<float>& y) {
  at::NoGradGuard no_grad;
  const View<float> view = x.view();
  const at::Tensor tokens = at::from_blob(view.data, {view.rows, view.columns}, {view.stride, 1}).contiguous();
  const auto layout = TokenLayout::Make({{1, static_cast<int>(view.rows)}}, /*prefix_tokens=*/0);
  const at::Tensor result = layer.Forward({tokens, layout}, 0, {}).contiguous();
  for (int64_t i = 0; i < view.rows; ++i) {
    std::copy_n(result.const_data_ptr<float>() + i * view.columns, view.columns, y.view().Row(i));
  }
}

// Largest difference, as a part of the largest value that the block adds to its input. The residual would hide faults.
double RelativeError(View<const float> got, View<const float> want, View<const float> x) {
  double error = 0, size = 0;
  for (int64_t i = 0; i < got.rows; ++i) {
    for (int64_t j = 0; j < got.columns; ++j) {
      const double difference = std::abs(static_cast<double>(got.Row(i)[j]) - want.Row(i)[j]);
      error = std::max(error, std::isnan(difference) ? 1e9 : difference);
      size = std::max(size, std::abs(static_cast<double>(want.Row(i)[j]) - x.Row(i)[j]));
    }
  }
  EXPECT_GT(size, 0.5) << "the block adds next to nothing, so this compares nothing";
  return error / size;
}

class Prepared : public testing::TestWithParam<Variant> {
 protected:
  // On a busy machine the threads of a small reference layer would mostly wait for each other.
  static void SetUpTestSuite() { at::set_num_threads(1); }
  double tolerance() const { return GetParam().precision == Precision::kFp32 ? 1e-5 : 2e-2; }
};
INSTANTIATE_TEST_SUITE_P(, Prepared, testing::ValuesIn(cpu::SupportedVariants()),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(Prepared, MatchesTheReferenceLayer) {
  for (int width : {64, 128, 192, 250, 330, 384, 512, 768}) {
    const auto layer = MakeLayer(width, 4 * width);
    const PreparedFeedForward prepared = Prepare(*layer, GetParam());
    Workspace workspace(prepared.WorkspaceBytes());
    for (int64_t tokens : {1, 2, 17, 65, 196, 200}) {
      if (width > 384 && tokens > 65) continue;  // the time of a test; blocks and widths do not meet there
      Matrix<float> x(tokens, width), got(tokens, width), want(tokens, width);
      x.FillWithNoise(width + tokens);
      Reference(*layer, x, want);
      prepared.Run(x.view(), got.view(), workspace);
      EXPECT_LT(RelativeError(got.view(), want.view(), x.view()), tolerance()) << width << " wide, " << tokens;
    }
  }
}

TEST_P(Prepared, MatchesTheReferenceLayerWhereHiddenIsNotFourTimesTheWidth) {
  for (const auto& [width, hidden] : {std::pair{64, 64}, {37, 41}, {128, 500}, {5, 1}}) {
    const auto layer = MakeLayer(width, hidden);
    const PreparedFeedForward prepared = Prepare(*layer, GetParam());
    Workspace workspace(prepared.WorkspaceBytes());
    Matrix<float> x(300, width, 7, 12345.f), got(300, width, 9, 12345.f), want(300, width);
    x.FillWithNoise(width);
    Reference(*layer, x, want);
    prepared.Run(x.view(), got.view(), workspace);
    EXPECT_LT(RelativeError(got.view(), want.view(), x.view()), tolerance()) << width << " to " << hidden;
    EXPECT_TRUE(got.GapsAreUntouched());
  }
}

// Images of a packed batch, of every kind of length: a class token alone, several grids, more than a block.
TEST_P(Prepared, AnImageIsBitIdenticalWhateverSharesItsBatch) {
  const auto layer = MakeLayer(250, 1000);
  const PreparedFeedForward prepared = Prepare(*layer, GetParam());
  Workspace workspace(prepared.WorkspaceBytes());
  const std::vector<int64_t> lengths = {65, 1, 50, 101, 37, 145, 2, 65};
  const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  Matrix<float> x(total, 250), together(total, 250), want(total, 250);
  x.FillWithNoise(1);
  Reference(*layer, x, want);
  prepared.Run(x.view(), together.view(), workspace);
  EXPECT_LT(RelativeError(together.view(), want.view(), x.view()), tolerance());
  int64_t first = 0;
  for (int64_t tokens : lengths) {
    Matrix<float> alone(tokens, 250);
    prepared.Run(x.view().Rows(first, tokens), alone.view(), workspace);
    EXPECT_TRUE(SameBits<float>(alone.view(), together.view().Rows(first, tokens)))
        << "the image of " << tokens << " tokens at " << first << " moved when others joined";
    first += tokens;
  }
}

TEST_P(Prepared, RunsInPlace) {
  const auto layer = MakeLayer(250, 1000);
  const PreparedFeedForward prepared = Prepare(*layer, GetParam());
  Workspace workspace(prepared.WorkspaceBytes());
  Matrix<float> x(260, 250), apart(260, 250);
  x.FillWithNoise(1);
  prepared.Run(x.view(), apart.view(), workspace);
  prepared.Run(x.view(), x.view(), workspace);
  EXPECT_TRUE(SameBits<float>(x.view(), apart.view()));
}

TEST_P(Prepared, TheHotPathDoesNotAllocate) {
  const auto layer = MakeLayer(128, 512);
  const PreparedFeedForward prepared = Prepare(*layer, GetParam());
  Workspace workspace(prepared.WorkspaceBytes());
  Matrix<float> x(500, 128);
  x.FillWithNoise(1);
  const int64_t before = allocations;
  prepared.Run(x.view(), x.view(), workspace);
  EXPECT_EQ(allocations - before, 0);
  Workspace counted(prepared.WorkspaceBytes());
  prepared.Run(x.view(), x.view(), counted);
  EXPECT_GT(allocations - before, 0) << "allocations are not counted, so the line above says nothing";
}

TEST_P(Prepared, ThreadsShareTheWeights) {
  const auto layer = MakeLayer(128, 512);
  const PreparedFeedForward prepared = Prepare(*layer, GetParam());
  Matrix<float> x(100, 128), one(100, 128), two(100, 128);
  x.FillWithNoise(1);
  const auto run = [&](View<float> y) {
    Workspace workspace(prepared.WorkspaceBytes());
    for (int i = 0; i < 20; ++i) prepared.Run(x.view(), y, workspace);
  };
  std::thread other(run, one.view());
  run(two.view());
  other.join();
  EXPECT_TRUE(SameBits<float>(one.view(), two.view()));
}

TEST(PreparedFeedForward, RefusesWhatTheCpuCannotRun) {
  const auto prepared = PreparedFeedForward::Prepare(*MakeLayer(64, 64), cpu::CpuPath::kPortable, Precision::kBf16);
  EXPECT_EQ(prepared.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PreparedFeedForward, PathsAgreeToWithinRounding) {
  const auto layer = MakeLayer(250, 1000);
  Matrix<float> x(65, 250), first(65, 250);
  x.FillWithNoise(1);
  for (cpu::CpuPath path : cpu::SupportedPaths()) {
    const PreparedFeedForward prepared = Prepare(*layer, {path, Precision::kFp32});
    Workspace workspace(prepared.WorkspaceBytes());
    Matrix<float> y(65, 250);
    prepared.Run(x.view(), path == cpu::CpuPath::kPortable ? first.view() : y.view(), workspace);
    if (path == cpu::CpuPath::kPortable) continue;
    EXPECT_LT(RelativeError(y.view(), first.view(), x.view()), 1e-5) << Name(path);
  }
}

}  // namespace
}  // namespace vitrine
