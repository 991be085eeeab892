// SPDX-License-Identifier: Apache-2.0
// What the interpreter does beyond the formulas that the other tests compare with.
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <string>

#include "models/zoo.h"
#include "tests/reference/memory_meter.h"
#include "tests/reference/pictures.h"

namespace vitrine {
namespace {

TEST(Interpreter, TheNullModelHasNoTokensToHandOut) {
  const auto model = MakeModel(FindVariant("null")->config);
  ASSERT_TRUE(model.ok()) << model.status();
  TokenTap tap;
  tap.Request(TokenTap::kFinal);
  const absl::StatusOr<at::Tensor> logits = RunModel(**model, {testing::Picture(3, 224, 224, 1)}, nullptr, &tap);
  ASSERT_TRUE(logits.ok()) << logits.status();
  EXPECT_EQ(logits->abs().sum().item<double>(), 0);
  EXPECT_EQ(tap.Find(TokenTap::kFinal), nullptr);
}

int64_t PeakOf(const std::string& family) {
  const auto model = testing::MakeHashed(testing::Config(
      "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 1000 } } " + family));
  const testing::MemoryMeter meter;
  EXPECT_TRUE(RunModel(*model, {testing::Picture(3, 128, 128, 1)}).ok());
  return meter.peak_bytes();
}

// What nobody reads any more is gone: a deeper model needs no more memory for its values.
TEST(Interpreter, HoldsAValueUntilItIsReadForTheLastTime) {
  for (const std::string embedding : {"", "embedding: F_SNE embedding_width: 16 code_length: 4"}) {
    const std::string xcit = "xcit { patch: 8 width: 16 class_depth: 2 heads: 2 mlp_width: 32 " + embedding;
    EXPECT_EQ(PeakOf(xcit + " depth: 8 }"), PeakOf(xcit + " depth: 2 }"));
  }
  const std::string eit =
      "eit { pool: 8 width: 20 heads: 2 mlp_width: 32 grid_rows: 4 grid_columns: 4 conv_channels: false ";
  EXPECT_EQ(PeakOf(eit + "depth: 8 }"), PeakOf(eit + "depth: 2 }"));
}

}  // namespace
}  // namespace vitrine
