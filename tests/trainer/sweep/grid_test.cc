// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/grid.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/trainer/coloured_squares.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::Sweep SweepOf(const std::string& text) {
  v1::Sweep sweep;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("recipe: \"kv-pos-mnist\" " + text, &sweep)) << text;
  return sweep;
}

std::string RefusalOf(const std::string& text) {
  const auto grid = ExpandSweep(SweepOf(text));
  if (grid.ok()) return "accepted";
  EXPECT_EQ(grid.status().code(), absl::StatusCode::kInvalidArgument) << grid.status();
  return std::string(grid.status().message());
}

TEST(Grid, HasEveryCombinationWithEverySeed) {
  const auto grid = ExpandSweep(SweepOf(R"pb(
    name: "two"
    set: "batch=10"
    epochs: 2.5
    axes { path: "optimizer.lr" values: "1e-3" values: "2e-3" }
    axes {
      name: "regularisation"
      settings { label: "none" }
      settings { label: "both" set: "dropout=0.1" set: "label_smoothing=0.2" }
    }
    seeds: 5
    seeds: 6
  )pb"));
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_THAT(grid->axes, ElementsAre("lr", "regularisation"));
  EXPECT_EQ(grid->metric, "test/top1");
  ASSERT_EQ(grid->points.size(), 4u);
  EXPECT_EQ(grid->points[1].name, "lr=1e-3,regularisation=both");
  EXPECT_EQ(grid->points[2].name, "lr=2e-3,regularisation=none");
  ASSERT_EQ(grid->cells.size(), 8u);
  const SweepCell& cell = grid->cells[3];
  EXPECT_EQ(cell.name, "lr=1e-3,regularisation=both,seed=6");
  EXPECT_EQ(cell.point, 1u);
  EXPECT_THAT(cell.assignments, ElementsAre("batch=10", "epochs=2.5", "optimizer.lr=1e-3", "dropout=0.1",
                                            "label_smoothing=0.2", "seed=6"));
  EXPECT_EQ(cell.recipe.batch(), 10);
  EXPECT_EQ(cell.recipe.epochs(), 2.5);
  EXPECT_EQ(cell.recipe.optimizer().lr(), 1e-3);
  EXPECT_FLOAT_EQ(cell.recipe.dropout(), 0.1f);
  EXPECT_EQ(cell.recipe.seed(), 6u);
}

TEST(Grid, UsesThreeSeedsFromTheRecipesByDefault) {
  const auto grid = ExpandSweep(SweepOf(R"pb(set: "seed=40")pb"));
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_THAT(grid->seeds, ElementsAre(40, 41, 42));
  EXPECT_EQ(grid->points.size(), 1u);
  EXPECT_EQ(grid->cells[2].name, "seed=42");
}

TEST(Grid, NamesOfRunsDoNotChangeInALargerGrid) {
  const auto small = ExpandSweep(SweepOf(R"pb(axes { path: "dropout" values: "0.1" }
                                              seeds: 1)pb"));
  const auto large = ExpandSweep(SweepOf(R"pb(axes { path: "dropout" values: "0" values: "0.1" }
                                              seeds: 7
                                              seeds: 1)pb"));
  ASSERT_TRUE(small.ok() && large.ok());
  EXPECT_EQ(small->cells[0].name, large->cells[3].name);
}

TEST(Grid, AnyLabelGivesAValidFolderName) {
  const auto grid = ExpandSweep(SweepOf(R"pb(
    axes { path: "dropout" values: "0.1" values: "0.2" labels: "a/../b" labels: "a/..\\b" }
    seeds: 1
  )pb"));
  ASSERT_TRUE(grid.ok()) << grid.status();
  std::set<std::string> names;
  for (const SweepCell& cell : grid->cells) {
    EXPECT_EQ(cell.name.find_first_of("/\\"), std::string::npos) << cell.name;
    names.insert(cell.name);
  }
  EXPECT_EQ(names.size(), 2u) << "the names differ though their characters were replaced alike";
}

TEST(Grid, RefusesInvalidSweeps) {
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "optimizer.speed" values: "1" })pb"),
              AllOf(HasSubstr("axis \"speed\""), HasSubstr("no field \"speed\""), HasSubstr("weight_decay")));
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "dropout" values: "much" })pb"), HasSubstr("axis \"dropout\""));
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "dropout" })pb"), HasSubstr("axis \"dropout\": has no values"));
  EXPECT_THAT(RefusalOf(R"pb(axes {})pb"), HasSubstr("axis 1: needs a path"));
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "dropout" values: "0.1" values: "0.1" })pb"), HasSubstr("\"0.1\" twice"));
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "dropout" values: "0.1" values: "1e-1" }
                             seeds: 3)pb"),
              HasSubstr("runs dropout=0.1,seed=3 and dropout=1e-1,seed=3 are the same experiment"));
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "dropout" values: "0.1" labels: "a" labels: "b" })pb"),
              HasSubstr("1 values and 2 labels"));
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "dropout" values: "0.1" values: "7" })pb"),
              AllOf(HasSubstr("run dropout=7,seed="), HasSubstr("dropout")));
  EXPECT_THAT(RefusalOf(R"pb(axes { path: "seed" values: "1" })pb"), HasSubstr("give the grid's `seeds`"));
  EXPECT_THAT(RefusalOf(R"pb(axes { settings { label: "x" } })pb"), HasSubstr("has settings, but no name"));
  EXPECT_THAT(RefusalOf(R"pb(axes {
                               name: "n"
                               path: "dropout"
                               settings { label: "x" }
                             })pb"),
              HasSubstr("has both settings and a path"));
  EXPECT_THAT(RefusalOf(R"pb(axes {
                               name: "n"
                               settings { set: "dropout=0" }
                             })pb"),
              HasSubstr("without a label"));
  EXPECT_THAT(RefusalOf(R"pb(
                axes { path: "dropout" values: "0.1" }
                axes { path: "dropouts.mlp" name: "dropout" values: "0.1" })pb"),
              HasSubstr("two axes have this name"));
  EXPECT_THAT(RefusalOf(R"pb(set: "colour=red")pb"), AllOf(HasSubstr("set: "), HasSubstr("colour")));
  EXPECT_THAT(RefusalOf(R"pb(set: "start.version=")pb"),
              HasSubstr("add set: \"start.version=REPOSITORY/MODEL/VERSION\" to the grid"));
  EXPECT_THAT(RefusalOf(R"pb(seeds: 1 seeds: 1)pb"), HasSubstr("seeds: has a seed twice"));
  EXPECT_THAT(RefusalOf(R"pb(seeds: 1 seed_count: 2)pb"), HasSubstr("together with seeds"));
  EXPECT_THAT(RefusalOf(R"pb(seed_count: -1)pb"), HasSubstr("not within 1 to 1000"));
  EXPECT_THAT(RefusalOf(R"pb(epochs: -1)pb"), HasSubstr("below 0"));
  EXPECT_THAT(RefusalOf(R"pb(margin: -0.1)pb"), HasSubstr("margin: -0.1 is below 0"));
  v1::Sweep many = SweepOf("seed_count: 1000");
  for (int i = 0; i < 11; ++i) {
    if (i == 0) many.add_axes()->set_path("batch");
    many.mutable_axes(0)->add_values(std::to_string(i + 1));
  }
  EXPECT_THAT(std::string(ExpandSweep(many).status().message()), HasSubstr("more than 10000 runs"));
  EXPECT_THAT(std::string(ExpandSweep(v1::Sweep()).status().message()), HasSubstr("recipe: is missing"));
}

TEST(ReadSweep, FindsTheRecipeBesideTheGridAndLocatesErrors) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "small.textproto") << PrintRecipe(SmallRecipe());
  std::ofstream(folder.path() / "grid.textproto") << "\xEF\xBB\xBFrecipe: \"small.textproto\" seeds: 1";
  const auto sweep = ReadSweep(folder.path() / "grid.textproto");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->name(), "grid");
  EXPECT_EQ(sweep->recipe(), (folder.path() / "small.textproto").string());
  EXPECT_TRUE(ExpandSweep(*sweep).ok()) << ExpandSweep(*sweep).status();
  std::ofstream(folder.path() / "wrong.textproto") << "recipe: \"x\"\naxis {}\n";
  EXPECT_THAT(std::string(ReadSweep(folder.path() / "wrong.textproto").status().message()),
              AllOf(HasSubstr("line 2"), HasSubstr("axis")));
  EXPECT_TRUE(absl::IsNotFound(ReadSweep(folder.path() / "none.textproto").status()));
  EXPECT_TRUE(absl::IsNotFound(ReadSweep(folder.path()).status()));
  std::ofstream(folder.path() / "empty.textproto").flush();
  EXPECT_TRUE(ReadSweep(folder.path() / "empty.textproto").ok());  // ExpandSweep says what is missing
}

}  // namespace
}  // namespace vitrine
