// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/charts/grouped_dots.h"
#include "tests/read_file.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/sweep/table.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns a grid of two rates, two widths and three seeds.
SweepGrid Grid() {
  SweepGrid grid;
  grid.name = "rates & widths";
  grid.metric = "test/top1";
  grid.axes = {"lr", "width"};
  grid.seeds = {1, 2, 3};
  for (const char* lr : {"1e-3", "1e-2"}) {
    for (const char* width : {"8", "16"}) {
      grid.points.push_back({absl::StrCat("lr=", lr, ",width=", width), {lr, width}});
      for (const uint64_t seed : grid.seeds) {
        grid.cells.push_back(
            {absl::StrCat(grid.points.back().name, ",seed=", seed), grid.points.size() - 1, seed, {}, {}});
      }
    }
  }
  return grid;
}

// Point p with seed s has the score 0.8 + p * gain + (s - 2) / 50. The mean over seeds is 0.8 + p * gain, the deviation
// 0.02. `wobble` scales a further offset that depends on the point and the seed.
std::vector<std::optional<CellResult>> Results(const SweepGrid& grid, double gain = 0.01, double wobble = 0) {
  std::vector<std::optional<CellResult>> results;
  for (const SweepCell& cell : grid.cells) {
    const size_t p = cell.point, seed = cell.seed;
    const double offset = static_cast<double>((3 * p * p + seed * seed * p + 3 * seed) % 7) - 3;
    const double score = 0.8 + static_cast<double>(p) * gain + (static_cast<double>(seed) - 2) / 50 + wobble * offset;
    results.push_back(CellResult{.scores = {{"test/top1", score}, {"test/loss", 1 - score}},
                                 .epochs = 3,
                                 .seconds = 10.0 * static_cast<double>(cell.seed),
                                 .parameters = 1234});
  }
  return results;
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(SweepSummary, HasMeanAndDeviationOfEachPoint) {
  const auto points = Summarise(Grid(), Results(Grid()));
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 4u);
  const PointSummary& point = (*points)[1];
  EXPECT_NEAR(point.mean, 0.81, 1e-12);
  EXPECT_NEAR(point.deviation, 0.02, 1e-12) << "divided by one less than the runs";
  EXPECT_NEAR(point.lowest, 0.79, 1e-12);
  EXPECT_NEAR(point.highest, 0.83, 1e-12);
  EXPECT_NEAR(point.seconds, 20, 1e-12);
  EXPECT_EQ(point.parameters, 1234);
}

size_t Bests(const std::vector<PointSummary>& points) {
  return std::ranges::count_if(points, [](const PointSummary& point) { return point.best; });
}

TEST(SweepSummary, TheBestIsFoundByPairedSeeds) {
  // Scores of the seeds differ by 0.02, but the differences between two points vary by less than 0.002 over the seeds.
  EXPECT_EQ(Bests(*Summarise(Grid(), Results(Grid(), 0.01, 0.0003))), 1u);
  EXPECT_EQ(Bests(*Summarise(Grid(), Results(Grid(), 0.01, 0.01))), 0u);
  EXPECT_EQ(Bests(*Summarise(Grid(), Results(Grid(), 0.01))), 0u)
      << "three equal differences have an unknown spread, not none";
  SweepGrid two = Grid();
  two.seeds = {1, 2};
  std::erase_if(two.cells, [](const SweepCell& cell) { return cell.seed == 3; });
  EXPECT_EQ(Bests(*Summarise(two, Results(two, 0.1, 0.0005))), 0u) << "two runs show no spread";
}

TEST(SweepSummary, TheBestIsCompleteAndCanBeTheLowest) {
  SweepGrid grid = Grid();
  grid.lower_is_better = true;
  EXPECT_TRUE(Summarise(grid, Results(grid, 0.1, 0.0005))->at(0).best);
  grid.metric = "test/loss";
  EXPECT_TRUE(Summarise(grid, Results(grid, 0.1, 0.0005))->at(3).best);
  auto results = Results(grid, 0.1, 0.0005);
  results[11].reset();
  const auto points = Summarise(grid, results);
  EXPECT_EQ(points->at(3).missing, 1u);
  EXPECT_NEAR(points->at(3).deviation, 0.02 / std::sqrt(2.0), 0.002);
  EXPECT_FALSE(points->at(3).best);
  EXPECT_TRUE(points->at(2).best);
}

TEST(SweepSummary, ASinglePointIsNotTheBest) {
  SweepGrid grid = Grid();
  grid.points.resize(1);
  std::erase_if(grid.cells, [](const SweepCell& cell) { return cell.point > 0; });
  EXPECT_EQ(Bests(*Summarise(grid, Results(grid))), 0u);
}

TEST(SweepSummary, TheErrorForAMissingMetricListsTheExisting) {
  SweepGrid grid = Grid();
  grid.metric = "test/top5";
  const auto points = Summarise(grid, Results(grid));
  EXPECT_TRUE(absl::IsInvalidArgument(points.status()));
  EXPECT_THAT(std::string(points.status().message()), HasSubstr("the runs have test/loss, test/top1"));
}

TEST(SweepResult, IsReadFromTheFileOfARun) {
  const ScratchFolder folder;
  EXPECT_FALSE(ReadResult(folder.path())->has_value());
  const auto write = [&](const std::string& text) { std::ofstream(folder.path() / "result.json") << text; };
  write(R"({"recipe":"r","finished":true,"epochs":2.5,"seconds":7,"parameters":99,
            "scores":{"test/top1":0.98,"test/loss":null},"train":{"loss":0.1}})");
  const auto result = ReadResult(folder.path());
  ASSERT_TRUE(result.ok() && result->has_value()) << result.status();
  EXPECT_EQ((*result)->scores, (std::map<std::string, double>{{"test/top1", 0.98}}));
  EXPECT_EQ((*result)->epochs, 2.5);
  EXPECT_EQ((*result)->seconds, 7);
  EXPECT_EQ((*result)->parameters, 99);
  write(R"({"finished":false,"scores":{}})");
  EXPECT_FALSE(ReadResult(folder.path())->has_value());
  for (const char* damaged : {"", "{", "[]", "{}", R"({"scores":3})"}) {
    write(damaged);
    EXPECT_TRUE(absl::IsFailedPrecondition(ReadResult(folder.path()).status())) << damaged;
  }
}

TEST(SweepTable, HasTheSameValuesInEveryFormat) {
  const SweepGrid grid = Grid();
  auto points = *Summarise(grid, Results(grid));
  points[3].best = true;
  const std::string text = SweepTable(grid, points, SweepFormat::kTable);
  EXPECT_THAT(text, AllOf(HasSubstr("test/top1 % MEAN (DEVIATION)"), HasSubstr("81.00 (2.00)"),
                          HasSubstr("83.00 (2.00) *"), Not(HasSubstr("MISSING"))));
  const std::string csv = SweepTable(grid, points, SweepFormat::kCsv);
  EXPECT_THAT(csv, HasSubstr("lr,width,runs,missing,mean,deviation,lowest,highest,seconds,parameters,scores\n"));
  EXPECT_THAT(csv, HasSubstr("\n1e-2,16,3,0,0.83"));
  const auto json = nlohmann::json::parse(SweepTable(grid, points, SweepFormat::kJson));
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[3]["lr"], "1e-2");
  EXPECT_NEAR(json[3]["mean"].get<double>(), 0.83, 1e-12);
  EXPECT_NEAR(json[3]["scores"]["3"].get<double>(), 0.85, 1e-12);
  const std::string markdown = SweepTable(grid, points, SweepFormat::kMarkdown);
  EXPECT_THAT(markdown, HasSubstr("| 1e-2 | 16 | 3 | 83.00 (2.00) * |"));
}

TEST(SweepTable, MarksIncompletePoints) {
  const SweepGrid grid = Grid();
  auto results = Results(grid);
  for (int i = 0; i < 4; ++i) results[i].reset();
  const auto points = *Summarise(grid, results);
  EXPECT_THAT(SweepTable(grid, points, SweepFormat::kTable), HasSubstr("MISSING"));
  const auto json = nlohmann::json::parse(SweepTable(grid, points, SweepFormat::kJson));
  EXPECT_EQ(json[0]["missing"], 3);
  EXPECT_TRUE(json[0]["mean"].is_null());
  EXPECT_EQ(json[1]["missing"], 1);
}

TEST(SweepPlot, HasADotPerRunAndAMeanPerPoint) {
  const SweepGrid grid = Grid();
  const auto svg = SweepPlot(grid, *Summarise(grid, Results(grid, 0.1, 0.0005)));
  ASSERT_TRUE(svg.ok()) << svg.status();
  EXPECT_EQ(CountOf(*svg, "class=\"value\""), 12u);
  EXPECT_EQ(CountOf(*svg, "class=\"mean\""), 4u);
  EXPECT_EQ(CountOf(*svg, "class=\"best\""), 1u);
  EXPECT_THAT(
      *svg, AllOf(HasSubstr("rates &amp; widths"), HasSubstr("1e-2, 16: mean 109.98"), HasSubstr("3 runs, the best")));
}

TEST(SweepPlot, AcceptsOneRunAndNone) {
  SweepGrid grid;
  grid.name = "one";
  grid.metric = "test/loss";
  grid.seeds = {1};
  grid.points = {{"recipe", {}}};
  grid.cells = {{"seed=1", 0, 1, {}, {}}};
  const auto none = SweepPlot(grid, *Summarise(grid, {std::nullopt}));
  ASSERT_TRUE(none.ok()) << none.status();
  const auto one = SweepPlot(grid, *Summarise(grid, {CellResult{.scores = {{"test/loss", 0.5}}}}));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(CountOf(*one, "class=\"mean\""), 1u);
  EXPECT_THAT(*one, Not(HasSubstr("nan")));
}

TEST(SweepPlot, RefusesValuesThatAreNotFinite) {
  DotsFigure figure{.title = "t",
                    .note = "",
                    .x_name = "",
                    .y_name = "",
                    .groups = {"g"},
                    .series = {"s"},
                    .series_name = "",
                    .dots = {}};
  figure.dots.push_back({.group = 0, .series = 0, .values = {std::nan("")}});
  EXPECT_TRUE(absl::IsInvalidArgument(DrawGroupedDots(figure).status()));
  figure.dots[0] = {.group = 1, .series = 0, .values = {1}, .mean = 1};
  EXPECT_TRUE(absl::IsInvalidArgument(DrawGroupedDots(figure).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(DrawGroupedDots(DotsFigure()).status()));
}

TEST(SweepReport, HasEveryScoreOfEveryRun) {
  const ScratchFolder folder;
  const SweepGrid grid = Grid();
  SweepOutcome outcome;
  outcome.results = Results(grid);
  outcome.results[5].reset();
  ASSERT_TRUE(WriteSweepReport(grid, *Summarise(grid, outcome.results), outcome, folder.path() / "a" / "b").ok());
  const std::string runs = ReadFile(folder.path() / "a" / "b" / "runs.csv");
  EXPECT_THAT(runs, HasSubstr("lr,width,seed,run,epochs,seconds,test/loss,test/top1\n"));
  EXPECT_EQ(CountOf(runs, "\n"), 12u);
  for (const char* name :
       {"table.txt", "table.csv", "table.json", "table.md", "effects.csv", "effects.json", "plot.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "a" / "b" / name)) << name;
  }
  std::ofstream(folder.path() / "file") << "x";
  const absl::Status status =
      WriteSweepReport(grid, *Summarise(grid, outcome.results), outcome, folder.path() / "file");
  EXPECT_THAT(std::string(status.message()), HasSubstr("file"));
}

}  // namespace
}  // namespace vitrine
