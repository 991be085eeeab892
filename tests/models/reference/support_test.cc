// SPDX-License-Identifier: Apache-2.0
// Tests that valid programs that the reference cannot run are rejected with the operator's name.
#include "models/reference/support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/program/builder.h"

namespace vitrine {
namespace {

using program::Builder;
using program::Program;
using program::Value;
using ::testing::HasSubstr;

Value Tokens(Builder& b) {
  return b.JoinClass("join", b.ClassToken("class_token", 8, {}), b.Linear("patches", b.Patchify(2), 8));
}

TEST(CheckSupported, AcceptsTheOperatorsOfFamilies) {
  Builder b(3);
  const Value qkv = b.Linear("qkv", Tokens(b), 24);
  EXPECT_TRUE(CheckSupported(b.Take(b.TakeClass(b.Attend("mix", {qkv}, {.heads = 2, .scale = 0.5})))).ok());
}

TEST(CheckSupported, RefusesAnUnusualAttentionScale) {
  Builder b(3);
  const Value qkv = b.Linear("qkv", Tokens(b), 24);
  const absl::Status status = CheckSupported(b.Take(b.TakeClass(b.Attend("mix", {qkv}, {.heads = 2, .scale = 1}))));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("operator mix: the reference does not run a scale other than"));
}

TEST(CheckSupported, RefusesBatchNormOfClassTokens) {
  Builder b(3);
  const absl::Status status = CheckSupported(b.Take(b.TakeClass(b.BatchNorm("norm", Tokens(b)))));
  EXPECT_THAT(status.message(), HasSubstr("operator norm: the reference does not run BatchNorm of anything but cells"));
}

TEST(CheckSupported, RefusesAConvolutionOutsideAStem) {
  Builder b(3);
  const Value map = b.Convolve("convolution", b.images(), 8, {.stride = 3}, /*bias=*/false);
  const Value cells = b.ToTokens(b.BatchNorm("norm", map));
  const Value tokens = b.JoinClass("join", b.ClassToken("class_token", 8, {}), cells);
  EXPECT_THAT(CheckSupported(b.Take(b.TakeClass(tokens))).message(), HasSubstr("operator convolution: "));
}

}  // namespace
}  // namespace vitrine
