// SPDX-License-Identifier: Apache-2.0
// Compares the fast kernels for attention among tokens with the plain kernels.
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

using cuda::AttendArguments;
using cuda::RowsOf;
using cuda::emulated::MachineOptions;

constexpr int kTokenHeads = 2;
constexpr int kTokenWidths[] = {16, 32, 48, 64};
constexpr int kTokenThreads = cuda::TokenTiles<16>::kThreads;

int SharedBytesOfTokens(int width) {
  return width == 16   ? cuda::TokenTiles<16>::kSharedBytes
         : width == 32 ? cuda::TokenTiles<32>::kSharedBytes
         : width == 48 ? cuda::TokenTiles<48>::kSharedBytes
                       : cuda::TokenTiles<64>::kSharedBytes;
}

template <int kWidth>
std::pair<int, int> ShapeOf() {
  return {cuda::TokenTilesFp32<kWidth>::kThreads, cuda::TokenTilesFp32<kWidth>::kSharedBytes};
}
// Returns the number of threads and the bytes of shared memory of the fp32 kernel.
std::pair<int, int> ShapeOfFp32(int width) {
  return width == 16 ? ShapeOf<16>() : width == 32 ? ShapeOf<32>() : width == 48 ? ShapeOf<48>() : ShapeOf<64>();
}

// Random q, k and v as columns of one matrix, and functions that compute attention with different kernels.
class Tokens {
 public:
  Tokens(int width, const std::vector<int>& cells, const MachineOptions& options = {})
      : rig_(InOneRow(cells), options),
        width_(width),
        columns_(kTokenHeads * width),
        qkv_(rig_.Random(RowsOf::kTokens, 3 * columns_, 1)) {}

  int columns() const { return columns_; }
  KernelBatch& rig() { return rig_; }
  void AddOffsets(std::vector<float> offsets) { offsets_ = std::move(offsets); }
  void AnswerFor(RowsOf rows) { outputs_ = rows; }
  // Returns an element of q (of = 0), k (1) or v (2).
  float& At(int of, int64_t row, int column) { return qkv_[static_cast<size_t>((row * 3 + of) * columns_ + column)]; }

  std::vector<float> Fast() {
    const AttendArguments arguments = Arguments();
    rig_.Run(absl::StrCat("vitrine_attend_tokens_", width_), arguments, kTokenThreads, SharedBytesOfTokens(width_));
    return rig_.Get(arguments.y);
  }
  // Runs the fast kernel with q, k, v and y in bf16.
  std::vector<float> Narrow() {
    AttendArguments arguments = Arguments();
    rig_.MakeNarrow(qkv_, arguments);
    const std::string kernel = absl::StrCat("vitrine_attend_tokens_", width_, "_narrow");
    rig_.Run(kernel, arguments, kTokenThreads, SharedBytesOfTokens(width_));
    return rig_.Get(arguments.y);
  }
  void Round() { qkv_ = RoundedToBf16(qkv_); }
  std::vector<float> FastFp32() {
    const AttendArguments arguments = Arguments();
    const auto [threads, shared_bytes] = ShapeOfFp32(width_);
    rig_.Run(absl::StrCat("vitrine_attend_tokens_", width_, "_fp32"), arguments, threads, shared_bytes);
    return rig_.Get(arguments.y);
  }
  std::vector<float> PlainFp32() {
    const AttendArguments arguments = Arguments();
    rig_.Run("vitrine_attend", arguments);
    return rig_.Get(arguments.y);
  }
  std::vector<float> Plain() {
    const AttendArguments arguments = Arguments();
    rig_.Run("vitrine_attend_bf16", arguments);
    return rig_.Get(arguments.y);
  }

 private:
  AttendArguments Arguments() {
    cuda::Matrix of[3];
    of[0] = rig_.Put(qkv_, RowsOf::kTokens, 3 * columns_);
    of[0].columns = columns_;
    for (int i = 1; i < 3; ++i) {
      of[i] = of[0];
      of[i].data += i * columns_;
    }
    return {.batch = rig_.batch(),
            .q = of[0],
            .k = of[1],
            .v = of[2],
            .y = rig_.Empty(outputs_, columns_),
            .heads = kTokenHeads,
            .scale = 0.25F,
            .offsets = rig_.buffers().Copy(offsets_),
            .known_offsets = static_cast<int>(offsets_.size())};
  }

  KernelBatch rig_;
  const int width_, columns_;
  std::vector<float> qkv_, offsets_;
  RowsOf outputs_ = RowsOf::kTokens;
};

// Both kernels round attention weights to bf16, with an error of at most 2^-9. The fast kernel rounds before it divides
// by the sum, and the plain kernel rounds after the division. Therefore outputs differ by at most 2^-8 of the largest
// value.
void ExpectNear(const std::vector<float>& fast, const std::vector<float>& plain) {
  EXPECT_LE(MostApart(fast, plain), 0x1p-8);
  EXPECT_LE(MeanApart(fast, plain), 0x1p-11);
}

TEST(CudaFastTokens, AreCloseToThePlainKernel) {
  for (const int width : kTokenWidths) {
    for (const std::vector<int>& cells : {std::vector<int>{0}, {14, 15, 16}, {62, 63, 64}, {128}}) {
      SCOPED_TRACE(absl::StrCat("width ", width, ", ", cells.size(), " images, first of ", cells[0]));
      Tokens tokens(width, cells);
      ExpectNear(tokens.Fast(), tokens.Plain());
    }
  }
}

TEST(CudaFastTokens, NarrowRowsEqualRoundedRowsBitForBit) {
  for (const int width : kTokenWidths) {
    for (const int sms : {1, 3}) {
      Tokens tokens(width, {20, 130, 5, 63}, {.seed = 7, .sms = sms});
      tokens.AddOffsets(std::vector<float>(70, 0.5F));
      const std::vector<float> narrow = tokens.Narrow();
      tokens.Round();
      EXPECT_TRUE(SameBits(narrow, RoundedToBf16(tokens.Fast()))) << width;
    }
  }
}

TEST(CudaFastTokens, AreAccurateInEveryRoundingModel) {
  for (const cuda::emulated::RoundingModel rounding : cuda::emulated::kRoundingModels) {
    Tokens tokens(48, {70, 3}, {.rounding = rounding});
    ExpectNear(tokens.Fast(), tokens.Plain());
  }
}

// Only the first keys have offsets. One offset is so large that its key gets nearly all weight.
TEST(CudaFastTokens, AddOffsets) {
  std::vector<float> offsets(75);
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<float>(i % 7) - 3;
  offsets[70] = 30;
  Tokens tokens(32, {80, 40});
  tokens.AddOffsets(offsets);
  ExpectNear(tokens.Fast(), tokens.Plain());
}

TEST(CudaFastTokens, CanComputeOnlyTheFirstQuery) {
  Tokens tokens(16, {80, 3});
  tokens.AnswerFor(RowsOf::kImages);
  ExpectNear(tokens.Fast(), tokens.Plain());
}

// Scores grow from key to key by more than the range of exp, so each rescaling sets the running sums to zero.
TEST(CudaFastTokens, AreAccurateForGrowingScores) {
  Tokens tokens(16, {150});
  for (int64_t row = 0; row < 151; ++row) {
    for (int column = 0; column < tokens.columns(); ++column) {
      tokens.At(0, row, column) = 4;
      tokens.At(1, row, column) = static_cast<float>(row);
    }
  }
  ExpectNear(tokens.Fast(), tokens.Plain());
}

TEST(CudaFastTokens, BitsDoNotDependOnSmsAndSchedule) {
  for (const int width : {16, 48}) {
    const std::vector<int> cells = {20, 130, 5};
    const std::vector<float> y = Tokens(width, cells).Fast();
    for (const auto& [seed, sms] : {std::pair(2, 1), {3, 132}}) {
      const MachineOptions options = {.seed = static_cast<uint64_t>(seed), .sms = sms};
      EXPECT_TRUE(SameBits(Tokens(width, cells, options).Fast(), y)) << width << " on " << sms;
    }
  }
}

TEST(CudaFastTokens, BitsDoNotDependOnTheBatch) {
  for (const int width : {16, 48}) {
    const std::vector<int> cells = {20, 130, 5};
    Tokens batch(width, cells);
    const std::vector<float> y = batch.Fast();
    for (int image = 0; image < 3; ++image) {
      Tokens alone(width, {cells[static_cast<size_t>(image)]});
      const int64_t first = batch.rig().rows().FirstRow(RowsOf::kTokens, image);
      const int64_t end = batch.rig().rows().FirstRow(RowsOf::kTokens, image + 1);
      EXPECT_TRUE(SameBits(Part(y, batch.columns(), first, end, 0, batch.columns()), alone.Fast()))
          << width << ", image " << image;
    }
  }
}

TEST(CudaFastTokensInFp32, EqualThePlainKernelBitForBit) {
  for (const int width : kTokenWidths) {
    for (const std::vector<int>& cells : {std::vector<int>{0}, {14, 31, 32}, {70, 3}}) {
      Tokens tokens(width, cells);
      if (cells[0] == 14) tokens.AddOffsets(std::vector<float>(20, -0.5F));
      EXPECT_TRUE(SameBits(tokens.FastFp32(), tokens.PlainFp32())) << width << ", first of " << cells[0];
    }
  }
}

TEST(CudaFastTokensInFp32, EqualThePlainKernelWithAnySchedule) {
  for (const int sms : {1, 132}) {
    Tokens tokens(16, {20, 40, 5}, {.seed = static_cast<uint64_t>(sms), .sms = sms});
    EXPECT_TRUE(SameBits(tokens.FastFp32(), tokens.PlainFp32())) << sms;
  }
}

// The kernel's memory for scores is too small for this number of keys.
TEST(CudaFastTokensInFp32, EqualThePlainKernelForManyKeys) {
  Tokens tokens(16, {300, 1, 255});
  tokens.AddOffsets(std::vector<float>(270, 0.25F));
  EXPECT_TRUE(SameBits(tokens.FastFp32(), tokens.PlainFp32()));
}

TEST(CudaFastTokensInFp32, CanComputeOnlyTheFirstQuery) {
  Tokens tokens(16, {80, 3});
  tokens.AnswerFor(RowsOf::kImages);
  EXPECT_TRUE(SameBits(tokens.FastFp32(), tokens.PlainFp32()));
}

TEST(CudaFastTokensInFp32, AccessWholeSectorsWithFewBankConflicts) {
  for (const int width : kTokenWidths) {
    Tokens tokens(width, {127}, {.counts = true});
    static_cast<void>(tokens.FastFp32());
    const auto global = tokens.rig().machine().counters().Total(/*is_shared=*/false);
    const auto shared = tokens.rig().machine().counters().Total(/*is_shared=*/true);
    EXPECT_LE(static_cast<double>(global.sectors), 1.1 * static_cast<double>(global.least_sectors)) << width;
    EXPECT_LE(static_cast<double>(shared.passes), 1.2 * static_cast<double>(shared.least_passes)) << width;
  }
}

// NaN in q affects its row, NaN in k all rows, and NaN in v its channel in all rows. Other heads and images are never
// affected.
TEST(CudaFastTokens, PropagateNan) {
  constexpr int kWidth = 16, kRow = 100;  // in the second image, which begins at row 20
  const std::vector<float> clean = Tokens(kWidth, {19, 140, 3}).Fast();
  for (int of = 0; of < 3; ++of) {
    Tokens tokens(kWidth, {19, 140, 3});
    tokens.At(of, kRow, kWidth + 5) = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> y = tokens.Fast();
    for (size_t i = 0; i < y.size(); ++i) {
      const int row = static_cast<int>(i) / tokens.columns(), column = static_cast<int>(i) % tokens.columns();
      const bool in_head = column / kWidth == 1 && row >= 20 && row < 161;
      const bool reached = in_head && (of == 0 ? row == kRow : of == 1 || column == kWidth + 5);
      if (reached) {
        EXPECT_TRUE(std::isnan(y[i])) << of << ", row " << row;
      } else {
        EXPECT_EQ(y[i], clean[i]) << of << ", row " << row;
      }
    }
  }
}

TEST(CudaFastTokens, AccessWholeSectorsWithFewBankConflicts) {
  for (const int width : kTokenWidths) {
    Tokens tokens(width, {127}, {.counts = true});
    static_cast<void>(tokens.Fast());
    const auto global = tokens.rig().machine().counters().Total(/*is_shared=*/false);
    const auto shared = tokens.rig().machine().counters().Total(/*is_shared=*/true);
    EXPECT_LE(static_cast<double>(global.sectors), 1.1 * static_cast<double>(global.least_sectors)) << width;
    EXPECT_LE(static_cast<double>(shared.passes), 1.1 * static_cast<double>(shared.least_passes)) << width;
  }
}

}  // namespace
}  // namespace vitrine::testing
