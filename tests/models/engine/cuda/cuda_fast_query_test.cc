// SPDX-License-Identifier: Apache-2.0
// Tests that the fast and the plain attention kernel for a single query give the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "models/engine/cuda/kernels/fast/attention_tiles.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {
namespace {

using cuda::RowsOf;
using cuda::emulated::MachineOptions;

constexpr int kQueryHeads = 2;

// Random queries, one per image, and keys and values as columns of one matrix. Computes attention with both kernels.
class Query {
 public:
  Query(int width, const std::vector<int>& cells, const MachineOptions& options = {})
      : rig_(InOneRow(cells), options),
        width_(width),
        columns_(kQueryHeads * width),
        q_(rig_.Random(RowsOf::kImages, columns_, 1)),
        kv_(rig_.Random(RowsOf::kTokens, 2 * columns_, 2)) {}

  int columns() const { return columns_; }
  // Returns an element of k (of = 0) or v (1).
  float& At(int of, int64_t row, int column) { return kv_[static_cast<size_t>((row * 2 + of) * columns_ + column)]; }
  void AddOffsets(std::vector<float> offsets) { offsets_ = std::move(offsets); }

  std::vector<float> Fast() {
    const cuda::AttendArguments arguments = Arguments();
    rig_.Run("vitrine_attend_query", arguments, cuda::QueryTiles::kThreads, cuda::QueryTiles::SharedBytes(width_));
    return rig_.Get(arguments.y);
  }
  std::vector<float> Plain() {
    const cuda::AttendArguments arguments = Arguments();
    rig_.Run("vitrine_attend_class", arguments);
    return rig_.Get(arguments.y);
  }

 private:
  cuda::AttendArguments Arguments() {
    cuda::Matrix k = rig_.Put(kv_, RowsOf::kTokens, 2 * columns_);
    k.columns = columns_;
    cuda::Matrix v = k;
    v.data += columns_;
    return {.batch = rig_.batch(),
            .q = rig_.Put(q_, RowsOf::kImages, columns_),
            .k = k,
            .v = v,
            .y = rig_.Empty(RowsOf::kImages, columns_),
            .heads = kQueryHeads,
            .scale = 0.3F,
            .offsets = rig_.buffers().Copy(offsets_),
            .known_offsets = static_cast<int>(offsets_.size())};
  }

  KernelBatch rig_;
  const int width_, columns_;
  std::vector<float> q_, kv_, offsets_;
};

TEST(CudaFastQuery, EqualsThePlainKernelBitForBit) {
  for (const int width : {16, 32, 48, 64}) {
    for (const std::vector<int>& cells : {std::vector<int>{0}, {15, 16, 1}, {62, 63, 64}, {127, 128, 196}}) {
      Query query(width, cells);
      EXPECT_TRUE(SameBits(query.Fast(), query.Plain())) << "width " << width << ", first of " << cells[0];
    }
  }
}

// If shared memory is too small for the scores of all keys, the kernel computes the scores three times.
TEST(CudaFastQuery, EqualsThePlainKernelForManyKeys) {
  for (const int cells : {511, 512, 1100}) {
    Query query(16, {cells, 3});
    EXPECT_TRUE(SameBits(query.Fast(), query.Plain())) << cells;
  }
}

TEST(CudaFastQuery, AddsOffsets) {
  std::vector<float> offsets(40);
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<float>(i % 7) - 3;
  Query query(32, {60, 20});
  query.AddOffsets(offsets);
  EXPECT_TRUE(SameBits(query.Fast(), query.Plain()));
}

TEST(CudaFastQuery, BitsDoNotDependOnSmsAndSchedule) {
  const std::vector<float> y = Query(32, {70, 5}).Fast();
  for (const auto& [seed, sms] : {std::pair(2, 1), {3, 132}}) {
    EXPECT_TRUE(SameBits(Query(32, {70, 5}, {.seed = static_cast<uint64_t>(seed), .sms = sms}).Fast(), y)) << sms;
  }
}

TEST(CudaFastQuery, PropagatesNan) {
  constexpr int kWidth = 16;
  for (int of = 0; of < 2; ++of) {
    Query query(kWidth, {19, 100, 3});
    query.At(of, 90, kWidth + 5) = std::numeric_limits<float>::quiet_NaN();  // second image, second head
    const std::vector<float> y = query.Fast();
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t row = i / static_cast<size_t>(query.columns()), column = i % static_cast<size_t>(query.columns());
      const bool reached = row == 1 && column / kWidth == 1 && (of == 0 || column == kWidth + 5);
      EXPECT_EQ(std::isnan(y[i]), reached) << of << ", " << i;
    }
  }
}

}  // namespace
}  // namespace vitrine::testing
