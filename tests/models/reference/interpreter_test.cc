// SPDX-License-Identifier: Apache-2.0
// Tests properties of the interpreter that no comparison with formulas covers.
#include "models/reference/interpreter.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/program/builder.h"
#include "models/reference/float_arrays.h"
#include "models/reference/support.h"
#include "models/zoo.h"
#include "tests/models/reference/images.h"
#include "tests/models/reference/memory_meter.h"

namespace vitrine {
namespace {

TEST(Interpreter, TheNullModelReturnsNoTokens) {
  const auto model = MakeModel(FindVariant("null")->config);
  ASSERT_TRUE(model.ok()) << model.status();
  TokenTap tap;
  tap.Request(TokenTap::kFinal);
  const absl::StatusOr<at::Tensor> logits = RunModel(**model, {testing::RandomImage(3, 224, 224, 1)}, nullptr, &tap);
  ASSERT_TRUE(logits.ok()) << logits.status();
  EXPECT_EQ(logits->abs().sum().item<double>(), 0);
  EXPECT_EQ(tap.Find(TokenTap::kFinal), nullptr);
}

int64_t PeakOf(const std::string& family) {
  const auto model = testing::MakeHashed(testing::Config(
      "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 1000 } } " + family));
  const testing::MemoryMeter meter;
  EXPECT_TRUE(RunModel(*model, {testing::RandomImage(3, 128, 128, 1)}).ok());
  return meter.peak_bytes();
}

// Values are freed after their last read, so a deeper model needs no more memory for them.
TEST(Interpreter, FreesAValueAfterItsLastRead) {
  for (const std::string embedding : {"", "embedding: F_SNE embedding_width: 16 code_length: 4"}) {
    const std::string xcit = "xcit { patch: 8 width: 16 class_depth: 2 heads: 2 mlp_width: 32 " + embedding;
    EXPECT_EQ(PeakOf(xcit + " depth: 8 }"), PeakOf(xcit + " depth: 2 }"));
  }
  const std::string eit =
      "eit { pool: 8 width: 20 heads: 2 mlp_width: 32 grid_rows: 4 grid_columns: 4 conv_channels: false ";
  EXPECT_EQ(PeakOf(eit + "depth: 8 }"), PeakOf(eit + "depth: 2 }"));
}

// Tests programs that no family builds. The interpreter must run every program that CheckSupported accepts.
class WrittenProgram : public ::testing::Test {
 protected:
  static at::Tensor Run(const program::Program& program, const ForwardContext& context) {
    std::vector<at::Tensor> weights;
    for (const program::Weight& weight : program.weights()) {
      weights.push_back(testing::Hashed(weight.shape, weights.size() + 1) * 0.3);
    }
    EXPECT_TRUE(CheckSupported(program).ok()) << CheckSupported(program);
    return Interpreter(program).Run(weights, {testing::RandomImage(3, 4, 6, 1), testing::RandomImage(3, 6, 2, 2)},
                                    context);
  }
  static program::Value Tokens(program::Builder& b) {
    return b.JoinClass("join", b.ClassToken("class_token", 12, {}), b.Patchify(2));
  }
};

// Operators that mix tokens or channels keep the type of their input, which is bf16 here because autograd is enabled.
// The operator that reads the result, here a norm, may need fp32.
TEST_F(WrittenProgram, NormsReadMixedTokensInBf16) {
  program::Builder b(3);
  const program::Value x = b.Linear("x", b.Patchify(2), 16);
  const program::Value channels = b.AttendChannels("channels", {b.Linear("qkv", x, 48)}, {.heads = 2});
  const program::Value tokens =
      b.Attend("tokens", {b.Linear("qkv2", channels, 48)}, {.heads = 2, .scale = 0.353553390593});
  const program::Value part = b.Columns(b.ConvolveGrid("convolution", tokens, /*depthwise=*/false), 2, 8);
  const program::Program program = b.Take(b.MeanTokens(b.LayerNorm("norm", part, 1e-6)));
  ForwardContext bf16;
  bf16.bf16 = true;
  const at::Tensor rounded = Run(program, bf16).detach(), exact = Run(program, {}).detach();
  EXPECT_GT(testing::Difference(rounded, exact), 0);
  EXPECT_LT(testing::Difference(rounded, exact), 0.1 * exact.abs().max().item<double>());
}

TEST_F(WrittenProgram, GeluAfterACodedLayerIsComputed) {
  program::Builder b(3);
  const int codes = b.AddWeight("codes", {3, 5}, {});
  const program::Value hidden = b.CodedLinear("first", b.Patchify(2), 8, codes, 1);
  const program::Program program = b.Take(b.MeanTokens(b.Gelu("gelu", hidden)));
  const at::NoGradGuard no_grad;
  // GELU is never below -0.17.
  EXPECT_GT(Run(program, {}).min().item<double>(), -0.17);
}

// Expects timm's rates, torch.linspace(0, rate, blocks): the first block drops nothing, and the last block drops at the
// full rate.
TEST_F(WrittenProgram, DropPathIncreasesWithDepth) {
  program::Builder b(3);
  program::Value x = Tokens(b);
  for (const std::string name : {"a", "b", "c"}) {
    x = b.Block(name, [&] { return b.Residual("add", x, b.Linear("linear", x, 12), b.site()); });
  }
  b.FinalTokens(x);
  const program::Program program = b.Take(b.TakeClass(x));
  const at::NoGradGuard no_grad;
  const auto stages = [&](const ForwardContext& how) {
    TokenTap tap;
    for (const int stage : {0, 1, 2}) tap.Request(stage);
    ForwardContext context = how;
    context.tokens = &tap;
    Run(program, context);
    std::vector<at::Tensor> tokens;
    for (const int stage : {0, 1, 2}) tokens.push_back(TensorOf(tap.Find(stage)->data));
    return tokens;
  };
  const std::vector<at::Tensor> whole = stages({});
  bool is_middle_kept = false, is_middle_dropped = false;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const std::vector<at::Tensor> dropped = stages(
        {.training = true, .drop_path = std::nextafter(1.0F, 0.0F), .drop_path_by_depth = true, .dropout_seed = seed});
    EXPECT_EQ(testing::Difference(dropped[0], whole[0]), 0);
    EXPECT_EQ(testing::Difference(dropped[2], dropped[1]), 0) << "the last branch is dropped for every image";
    const at::Tensor changed = (dropped[1] - dropped[0]).abs().sum(1);
    is_middle_kept |= changed.max().item<double>() > 0;
    is_middle_dropped |= changed.min().item<double>() == 0;
  }
  EXPECT_TRUE(is_middle_kept && is_middle_dropped) << "the middle block has half the rate";
}

// Logits need only class tokens. With a TokenTap, the interpreter computes all tokens, and the logits stay equal.
TEST_F(WrittenProgram, ComputesOnlyClassTokensAfterTheLastMixing) {
  program::Builder b(3);
  program::Value x = b.AttendLinearly("mix", {b.Linear("qkv", Tokens(b), 36)}, {.heads = 2});
  x = b.Residual("add", x, b.Linear("mlp", x, 12), /*path=*/1);
  b.FinalTokens(x);
  const program::Program program = b.Take(b.TakeClass(x));
  const at::NoGradGuard no_grad;
  const at::Tensor logits = Run(program, {});
  EXPECT_EQ(logits.sizes(), at::IntArrayRef({2, 12}));
  TokenTap tap;
  tap.Request(TokenTap::kFinal);
  ForwardContext watched;
  watched.tokens = &tap;
  EXPECT_LT(testing::Difference(Run(program, watched), logits), 1e-6);
  for (ForwardContext context : {ForwardContext(), watched}) {
    context.training = true;
    context.drop_path = 0.5F;
    context.dropout_seed = 3;
    EXPECT_EQ(Run(program, context).sizes(), logits.sizes());
  }
}

}  // namespace
}  // namespace vitrine
