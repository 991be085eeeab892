// SPDX-License-Identifier: Apache-2.0
// Compares the fast kernel for attention among channels with the plain kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/engine/cuda/emulated/products.h"
#include "models/engine/cuda/kernels/fast/attention_tiles.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {
namespace {

using cuda::ChannelArguments;
using cuda::RowsOf;
using cuda::emulated::MachineOptions;

constexpr int kHeads = 3;
constexpr int kWidths[] = {16, 32, 48};

int SharedBytes(int width) {
  return width == 16   ? cuda::ChannelTiles<16>::kSharedBytes
         : width == 32 ? cuda::ChannelTiles<32>::kSharedBytes
                       : cuda::ChannelTiles<48>::kSharedBytes;
}

// Random q, k and v as columns of one matrix, and functions that compute attention with different kernels.
class Channels {
 public:
  Channels(int width, const std::vector<int>& cells, RowsOf rows = RowsOf::kCells, const MachineOptions& options = {})
      : rig_(InOneRow(cells), options),
        width_(width),
        columns_(kHeads * width),
        rows_(rows),
        qkv_(rig_.Random(rows, 3 * columns_, 1)) {}

  struct Result {
    std::vector<float> y, scores, weights;
  };

  int columns() const { return columns_; }
  KernelBatch& rig() { return rig_; }
  // Returns an element of q (of = 0), k (1) or v (2).
  float& At(int of, int64_t row, int column) { return qkv_[static_cast<size_t>((row * 3 + of) * columns_ + column)]; }

  Result Fast(bool with_matrices = true) {
    ChannelArguments arguments = Arguments();
    if (with_matrices) arguments.scores = rig_.buffers().Allocate<float>(static_cast<size_t>(Matrices()));
    if (!with_matrices) arguments.matrices = nullptr;
    rig_.Run(absl::StrCat("vitrine_attend_channels_", width_), arguments, 128, SharedBytes(width_));
    Result result = {.y = rig_.Get(arguments.y), .scores = {}, .weights = {}};
    if (with_matrices) {
      result.scores = rig_.Read<float>(arguments.scores, static_cast<size_t>(Matrices()));
      result.weights = rig_.Read<float>(arguments.matrices, static_cast<size_t>(Matrices()));
    }
    return result;
  }
  // Runs the fast kernel with q, k, v and y in bf16.
  Result Narrow() {
    ChannelArguments arguments = Arguments();
    arguments.scores = rig_.buffers().Allocate<float>(static_cast<size_t>(Matrices()));
    rig_.MakeNarrow(qkv_, arguments);
    rig_.Run(absl::StrCat("vitrine_attend_channels_", width_, "_narrow"), arguments, 128, SharedBytes(width_));
    return {.y = rig_.Get(arguments.y),
            .scores = rig_.Read<float>(arguments.scores, static_cast<size_t>(Matrices())),
            .weights = rig_.Read<float>(arguments.matrices, static_cast<size_t>(Matrices()))};
  }
  void Round() { qkv_ = RoundedToBf16(qkv_); }
  Result Plain() {
    const ChannelArguments arguments = Arguments();
    rig_.Run("vitrine_inverse_lengths", arguments);
    rig_.Run("vitrine_channel_products", arguments);
    rig_.Run("vitrine_channel_scale", arguments);
    Result result = {
        .y = {}, .scores = rig_.Read<float>(arguments.matrices, static_cast<size_t>(Matrices())), .weights = {}};
    rig_.Run("vitrine_channel_softmax", arguments);
    result.weights = rig_.Read<float>(arguments.matrices, static_cast<size_t>(Matrices()));
    rig_.Run("vitrine_channel_mix", arguments);
    result.y = rig_.Get(arguments.y);
    return result;
  }

 private:
  int64_t Matrices() const { return int64_t{rig_.rows().count()} * columns_ * width_; }

  ChannelArguments Arguments() {
    const auto lengths = static_cast<size_t>(rig_.rows().count() * columns_);
    cuda::Matrix of[3];
    of[0] = rig_.Put(qkv_, rows_, 3 * columns_);
    of[0].columns = columns_;
    for (int i = 1; i < 3; ++i) {
      of[i] = of[0];
      of[i].data += i * columns_;
    }
    return {.batch = rig_.batch(),
            .q = of[0],
            .k = of[1],
            .v = of[2],
            .y = rig_.Empty(rows_, columns_),
            .heads = kHeads,
            .matrices = rig_.buffers().Allocate<float>(static_cast<size_t>(Matrices())),
            .scores = nullptr,
            .inverse_q = rig_.buffers().Allocate<float>(lengths),
            .inverse_k = rig_.buffers().Allocate<float>(lengths),
            .factors = nullptr,
            .temperature = rig_.buffers().Copy(std::vector<float>{1, 0.5F, 7}),
            .query_scale = nullptr,
            .over_values = false,
            .normalizes = true,
            .narrow = true};
  }

  KernelBatch rig_;
  const int width_, columns_;
  const RowsOf rows_;
  std::vector<float> qkv_;
};

// The kernels' sums of products differ in their last bits. Therefore the two kernels may round a weight to adjacent
// bf16 numbers, which differ by up to 2^-8 of the weight.
void ExpectNear(const Channels::Result& fast, const Channels::Result& plain) {
  EXPECT_LE(MostApart(fast.scores, plain.scores), 3e-6);
  EXPECT_LE(MostApart(fast.weights, plain.weights), 1e-5);
  EXPECT_LE(MostApart(fast.y, plain.y), 0x1p-8);
  EXPECT_LE(MeanApart(fast.y, plain.y), 1e-5);
}

TEST(CudaFastChannels, AreCloseToThePlainKernels) {
  for (const int width : kWidths) {
    for (const std::vector<int>& cells : {std::vector<int>{1}, {15}, {16, 17}, {63, 1, 65, 64}}) {
      SCOPED_TRACE(absl::StrCat("width ", width, ", ", cells.size(), " images, first of ", cells[0]));
      Channels channels(width, cells, cells.size() == 2 ? RowsOf::kTokens : RowsOf::kCells);
      ExpectNear(channels.Fast(), channels.Plain());
    }
  }
}

TEST(CudaFastChannels, NarrowRowsEqualRoundedRowsBitForBit) {
  for (const int width : kWidths) {
    Channels channels(width, {63, 1, 70}, RowsOf::kTokens);
    const Channels::Result narrow = channels.Narrow();
    channels.Round();
    const Channels::Result rounded = channels.Fast();
    EXPECT_TRUE(SameBits(narrow.y, RoundedToBf16(rounded.y))) << width;
    EXPECT_TRUE(SameBits(narrow.scores, rounded.scores)) << width;
    EXPECT_TRUE(SameBits(narrow.weights, rounded.weights)) << width;
  }
}

TEST(CudaFastChannels, AreAccurateInEveryRoundingModel) {
  for (const cuda::emulated::RoundingModel rounding : cuda::emulated::kRoundingModels) {
    Channels channels(48, {70, 3}, RowsOf::kCells, {.rounding = rounding});
    ExpectNear(channels.Fast(), channels.Plain());
  }
}

TEST(CudaFastChannels, SumManyTokens) {
  Channels channels(16, {1500});
  ExpectNear(channels.Fast(), channels.Plain());
}

TEST(CudaFastChannels, BitsDoNotDependOnScheduleAndMatrixInstructions) {
  for (const int width : kWidths) {
    const std::vector<int> cells = {40, 70, 5};
    const std::vector<float> y = Channels(width, cells).Fast().y;
    EXPECT_TRUE(SameBits(Channels(width, cells).Fast(/*with_matrices=*/false).y, y)) << width;
    for (const auto& [seed, sms] : {std::pair(2, 1), {3, 132}, {4, 3}}) {
      const MachineOptions options = {.seed = static_cast<uint64_t>(seed), .sms = sms};
      EXPECT_TRUE(SameBits(Channels(width, cells, RowsOf::kCells, options).Fast().y, y)) << width << " on " << sms;
    }
  }
}

TEST(CudaFastChannels, BitsDoNotDependOnTheBatch) {
  for (const int width : kWidths) {
    const std::vector<int> cells = {40, 70, 5, 70};
    Channels batch(width, cells);
    const std::vector<float> y = batch.Fast().y;
    for (int image = 0; image < 4; ++image) {
      Channels alone(width, {cells[static_cast<size_t>(image)]});
      const int64_t first = batch.rig().rows().FirstRow(RowsOf::kCells, image);
      const int64_t end = batch.rig().rows().FirstRow(RowsOf::kCells, image + 1);
      EXPECT_TRUE(SameBits(Part(y, batch.columns(), first, end, 0, batch.columns()), alone.Fast().y))
          << width << ", image " << image;
    }
  }
}

// A NaN in q or k may change all rows of its head and image. A NaN in v changes only its own row of its head. Other
// results keep their bits.
TEST(CudaFastChannels, PropagateNan) {
  constexpr int kWidth = 32, kRow = 50;  // in the second image, which begins at row 20
  const std::vector<float> clean = Channels(kWidth, {20, 40, 20}).Fast().y;
  for (int of = 0; of < 3; ++of) {
    Channels channels(kWidth, {20, 40, 20});
    channels.At(of, kRow, kWidth + 5) = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> y = channels.Fast().y;
    for (size_t i = 0; i < y.size(); ++i) {
      const int row = static_cast<int>(i) / channels.columns(),
                head = static_cast<int>(i) % channels.columns() / kWidth;
      const bool reached = head == 1 && (of == 2 ? row == kRow : row >= 20 && row < 60);
      if (!reached) {
        EXPECT_EQ(y[i], clean[i]) << of << ", " << row;
      } else if (of != 0) {
        EXPECT_TRUE(std::isnan(y[i])) << of << ", " << row;
      }
    }
    if (of != 0) continue;
    // NaN in a channel of q makes this channel of y NaN in all rows of the image.
    for (int row = 20; row < 60; ++row) EXPECT_TRUE(std::isnan(y[static_cast<size_t>(row * 3 * kWidth + kWidth + 5)]));
  }
}

TEST(CudaFastChannels, AccessWholeSectorsWithFewBankConflicts) {
  for (const int width : kWidths) {
    Channels channels(width, {64}, RowsOf::kCells, {.counts = true});
    static_cast<void>(channels.Fast(/*with_matrices=*/false));
    const auto global = channels.rig().machine().counters().Total(/*is_shared=*/false);
    const auto shared = channels.rig().machine().counters().Total(/*is_shared=*/true);
    EXPECT_LE(static_cast<double>(global.sectors), 1.1 * static_cast<double>(global.least_sectors)) << width;
    EXPECT_LE(static_cast<double>(shared.passes), 1.35 * static_cast<double>(shared.least_passes)) << width;
  }
}

}  // namespace
}  // namespace vitrine::testing
