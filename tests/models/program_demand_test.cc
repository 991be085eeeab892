// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/families/family.h"
#include "models/program/builder.h"
#include "models/program/demand.h"
#include "models/zoo/small_forms.h"

namespace vitrine::program {
namespace {

Program Of(const std::string& form) {
  for (const SmallForm& each : SmallForms()) {
    if (each.name == form) return ProgramOf(each.config).value();
  }
  ADD_FAILURE() << "there is no form " << form;
  return ProgramOf(SmallForms()[0].config).value();
}

const Operator& Named(const Program& program, const std::string& name) {
  for (const Operator& op : program.operators()) {
    if (op.name == name) return op;
  }
  ADD_FAILURE() << "there is no operator " << name;
  return program.operators()[0];
}

Demand OnOperator(const Program& program, const std::string& name, const std::vector<Value>& results) {
  return DemandOf(program, results)[static_cast<size_t>(Named(program, name).output.id)];
}

TEST(DemandOf, OnlyClassTokensAreReadAfterTheLastAttention) {
  const Program program = Of("vit");
  const std::vector<Value> logits = {program.logits()};
  EXPECT_EQ(OnOperator(program, "blocks.0.feed_forward.fc2", logits), Demand::kAll);
  EXPECT_EQ(OnOperator(program, "blocks.1.attention.qkv", logits), Demand::kAll) << "keys of every token";
  EXPECT_EQ(OnOperator(program, "blocks.1.attention.mix", logits), Demand::kClass);
  EXPECT_EQ(OnOperator(program, "blocks.1.feed_forward.fc2", logits), Demand::kClass);
  EXPECT_EQ(OnOperator(program, "norm", logits), Demand::kClass);
}

TEST(DemandOf, TwoHeadsReadTwoTokens) {
  const Program program = ProgramOf(SmallPrefixForms()[0].config).value();  // vit_distilled
  const std::vector<Value> logits = {program.logits()};
  EXPECT_EQ(OnOperator(program, "blocks.1.attention.qkv", logits), Demand::kAll) << "keys of every token";
  EXPECT_EQ(OnOperator(program, "blocks.1.feed_forward.fc2", logits), Demand::kHeads);
  EXPECT_EQ(OnOperator(program, "norm", logits), Demand::kHeads);
}

TEST(DemandOf, RequestedTokensAreAllComputed) {
  const Program program = Of("vit");
  const std::vector<Value> both = {program.logits(), program.final_tokens()};
  EXPECT_EQ(OnOperator(program, "blocks.1.feed_forward.fc2", both), Demand::kAll);
  EXPECT_EQ(OnOperator(program, "norm", both), Demand::kAll);
}

TEST(DemandOf, PatchesOfTheLastClassBlockAreNotRead) {
  for (const char* form : {"xcit", "xcit_tokens_norm"}) {
    const Program program = Of(form);
    const std::vector<Value> logits = {program.logits()};
    EXPECT_EQ(OnOperator(program, "class_blocks.0.patches.double", logits), Demand::kAll) << form;
    EXPECT_EQ(OnOperator(program, "class_blocks.1.patches.double", logits), Demand::kNone) << form;
    EXPECT_EQ(OnOperator(program, "class_blocks.1.norm", logits), Demand::kAll) << form;
    EXPECT_EQ(OnOperator(program, "class_blocks.1.attention.q", logits), Demand::kClass) << form;
    EXPECT_EQ(OnOperator(program, "class_blocks.1.attention.k", logits), Demand::kAll) << form;
    EXPECT_EQ(OnOperator(program, "class_blocks.1.attention.add", logits), Demand::kClass) << form;
    const std::vector<Value> final = {program.final_tokens()};
    EXPECT_EQ(OnOperator(program, "class_blocks.1.patches.double", final), Demand::kAll) << form;
  }
}

// Attention maps have a row for every query, even if only the class token's result is read.
TEST(DemandOf, SeparateQueriesAreAllComputed) {
  Builder b(3);
  const Value x = b.JoinClass("join", b.ClassToken("class_token", 4, {}), b.Linear("patches", b.Patchify(2), 4));
  const std::vector<Value> qkv = {b.Linear("q", x, 4), b.Linear("k", x, 4), b.Linear("v", x, 4)};
  const Program program = b.Take(b.TakeClass(b.Attend("attend", qkv, {.heads = 2, .scale = 1}, {})));
  EXPECT_EQ(OnOperator(program, "q", {program.logits()}), Demand::kAll);
  EXPECT_EQ(OnOperator(program, "attend", {program.logits()}), Demand::kClass);
}

TEST(DemandOf, ChannelAttentionReadsAllCells) {
  const Program program = Of("xcit_sne");
  for (const char* name : {"blocks.1.attention.qkv.q.2", "blocks.1.local.convolutions.1", "stem.norms.3"}) {
    EXPECT_EQ(OnOperator(program, name, {program.logits()}), Demand::kAll) << name;
  }
}

TEST(DemandOf, AConvolutionBesideTheLastAttentionIsNotRead) {
  const Program program = Of("baseline_lsra");
  EXPECT_EQ(OnOperator(program, "blocks.0.convolution.linear", {program.logits()}), Demand::kAll);
  EXPECT_EQ(OnOperator(program, "blocks.1.convolution.linear", {program.logits()}), Demand::kNone);
}

TEST(MapSizesOf, FollowsConvolutionsAndPools) {
  const Program stem = Of("xcit");
  const std::vector<MapSize> sizes = MapSizesOf(stem, {.height = 50, .width = 66});
  const MapSize last = sizes[static_cast<size_t>(Named(stem, "stem.norms.3").output.id)];
  EXPECT_EQ(last.height, 3);
  EXPECT_EQ(last.width, 4);
  const Program pooled = Of("eit_pool3");
  const MapSize cells =
      MapSizesOf(pooled, {.height = 11, .width = 12})[static_cast<size_t>(Named(pooled, "patches").output.id)];
  EXPECT_EQ(cells.height, 3);
  EXPECT_EQ(cells.width, 4);
}

}  // namespace
}  // namespace vitrine::program
