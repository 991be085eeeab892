// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/program/builder.h"

namespace vitrine::program {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Names(const Program& program, const std::vector<int>& places) {
  std::vector<std::string> names;
  for (const int place : places) names.push_back(program.weights()[static_cast<size_t>(place)].name);
  return names;
}

std::vector<std::string> Listed(const Program& program) {
  std::vector<std::string> names;
  for (const Weight& weight : program.weights()) names.push_back(weight.name);
  return names;
}

size_t PlaceOf(const Program& program, const std::string& name) {
  const std::vector<std::string> names = Listed(program);
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

Value Tokens(Builder& b, int64_t width, Value cells) {
  return b.JoinClass("join", b.ClassToken("class_token", width, {}), cells);
}
Value Tokens(Builder& b, int64_t width) {
  return Tokens(b, width, b.Linear("patches", b.Patchify(2), width));
}

TEST(Builder, WeightsOfAScopeAreListedBeforeNestedOnes) {
  Builder b(3);
  const Value x = Tokens(b, 4);
  const Value y = b.Within("block", [&] {
    const Value norm = b.BatchNorm("norm", x);
    return b.ScaledResidual("add", x, norm, -1, "scale", 0.1);
  });
  const Program program = b.Take(b.TakeClass(y));
  EXPECT_THAT(Listed(program),
              ElementsAre("class_token", "patches.weight", "patches.bias", "block.scale", "block.norm.weight",
                          "block.norm.bias", "block.norm.running_mean", "block.norm.running_var"));
  EXPECT_FALSE(program.weights().back().trained);
}

TEST(Builder, APositionTableHasARowForTheClassToken) {
  for (const bool tokens : {true, false}) {
    Builder b(3);
    const Value cells = b.Linear("patches", b.Patchify(2), 4);
    const Value x = tokens ? Tokens(b, 4, cells) : cells;
    const Value y = b.TablePosition("positions", x, {2, 3}, {});
    const Program program = b.Take(tokens ? b.TakeClass(y) : b.MeanTokens(y));
    EXPECT_EQ(program.weights()[PlaceOf(program, "positions.table")].shape, (std::vector<int64_t>{tokens ? 7 : 6, 4}));
  }
}

TEST(Builder, WeightsAreDrawnInAddedOrRequestedOrder) {
  Builder b(3);
  b.DrawsFirst({"head", "blocks"});
  const Value x = Tokens(b, 4);
  const Value y = b.Linear("blocks.1", b.Linear("blocks.0", x, 4, false), 4, false);
  const Program program = b.Take(b.Linear("head", b.TakeClass(y), 2, false));
  EXPECT_THAT(Names(program, program.drawing_order()), ElementsAre("head.weight", "blocks.0.weight", "blocks.1.weight",
                                                                   "patches.weight", "patches.bias", "class_token"));
}

TEST(Builder, ListsAnnouncedScopesFirst) {
  Builder b(3);
  const Value x = Tokens(b, 4);
  b.ListsFirst({"late"});
  const Value y = b.Linear("late", b.Linear("early", x, 4, false), 4, false);
  const Program program = b.Take(b.TakeClass(y));
  EXPECT_THAT(Listed(program),
              ElementsAre("class_token", "patches.weight", "patches.bias", "late.weight", "early.weight"));
}

TEST(Builder, ASharedNameIsOneWeight) {
  Builder b(3);
  const Value x = Tokens(b, 4);
  const Value y = b.SharedLinear("shared", "two", b.SharedLinear("shared", "one", x, 4), 4);
  const Program program = b.Take(b.TakeClass(y));
  EXPECT_EQ(program.weights().size(), 5u);
  const std::vector<Operator>& operators = program.operators();
  EXPECT_EQ(operators[operators.size() - 2].weights, operators[operators.size() - 3].weights);
}

TEST(Builder, BlocksHaveTheirOwnDropoutSitesAndStages) {
  Builder b(3);
  const Value x = Tokens(b, 4);
  std::vector<int> sites;
  const auto body = [&] {
    sites.push_back(b.site());
    return b.LayerNorm("norm", x, 1e-6);
  };
  b.Block("blocks.0", body);
  const Value last = b.Block("blocks.1", body);
  const Program program = b.Take(b.TakeClass(last));
  EXPECT_THAT(sites, ElementsAre(0, Builder::kSitesPerBlock));
  EXPECT_EQ(program.stages().size(), 2u);
  EXPECT_EQ(program.stages()[1], last);
}

TEST(Builder, LayersAreCountedPerAttentionSource) {
  Builder b(3);
  const Value x = b.Linear("qkv", Tokens(b, 4), 12);
  const Value one = b.Attend("one", {x}, {.heads = 2});
  const Value two = b.Attend("two", {b.Linear("again", one, 12)}, {.heads = 2});
  const Value rows = b.Attend("three", {two, two, two}, {.heads = 2, .class_query = true});
  const Program program = b.Take(rows);
  std::vector<int> layers;
  for (const Operator& op : program.operators()) {
    if (const Attend* attend = op.As<Attend>()) layers.push_back(attend->layer);
  }
  EXPECT_THAT(layers, ElementsAre(0, 1, 0));
  EXPECT_EQ(program.info(rows).kind, ValueKind::kRows);
  EXPECT_EQ(program.info(rows).columns, 4);
}

using BuilderDeathTest = ::testing::Test;

TEST(BuilderDeathTest, InvalidProgramsAbort) {
  Builder b(3);
  const Value x = Tokens(b, 4);
  EXPECT_DEATH(b.Residual("wrong", x, b.TakeClass(x), -1), "program: wrong: adds values of different kinds");
  EXPECT_DEATH(b.Gelu("patches", x), "program: patches: is the name of another operator");
  EXPECT_DEATH(b.AddWeight("class_token", {5, 5}, {}), "class_token: has two shapes");
  EXPECT_DEATH(b.Columns(x, 2, 3), "reads missing columns");
  EXPECT_DEATH(b.Take(x), "logits: are not one row per image");
}

}  // namespace
}  // namespace vitrine::program
