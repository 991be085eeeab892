// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/effects.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/statistics/significance.h"
#include "trainer/sweep/words.h"

namespace vitrine {
namespace {

// Scores of the runs with one value of an axis. The key is a run's labels on the other axes, and its seed.
using Scores = std::map<std::pair<std::vector<std::string>, uint64_t>, double>;

Scores ScoresOf(const SweepGrid& grid, const std::vector<PointSummary>& points, size_t axis, const std::string& value) {
  Scores scores;
  for (size_t i = 0; i < points.size(); ++i) {
    std::vector<std::string> others = grid.points[i].labels;
    if (others[axis] != value) continue;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    for (const SeedScore& seed : points[i].seeds) scores[{others, seed.seed}] = seed.score;
  }
  return scores;
}

std::vector<std::string> ValuesOf(const SweepGrid& grid, size_t axis) {
  std::vector<std::string> values;
  for (const SweepPoint& point : grid.points) {
    if (std::ranges::find(values, point.labels[axis]) == values.end()) values.push_back(point.labels[axis]);
  }
  return values;
}

ValueEffect MeanOf(size_t axis, const std::string& value, const Scores& scores) {
  ValueEffect effect{.axis = axis, .value = value, .runs = std::ssize(scores)};
  for (const auto& [place, score] : scores) effect.mean += score / static_cast<double>(scores.size());
  return effect;
}

std::vector<double> Differences(const Scores& first, const Scores& second) {
  std::vector<double> differences;
  for (const auto& [place, score] : second) {
    if (const auto found = first.find(place); found != first.end()) differences.push_back(score - found->second);
  }
  return differences;
}

std::string FindingInWords(const SweepGrid& grid, Finding finding) {
  switch (finding) {
    case Finding::kAbove:
      return grid.lower_is_better ? "worse" : "better";
    case Finding::kBelow:
      return grid.lower_is_better ? "better" : "worse";
    case Finding::kEquivalent:
      return "equivalent";
    case Finding::kUndecided:
      break;
  }
  return "undecided";
}

bool AnyFewPairs(const std::vector<ValueEffect>& effects) {
  return std::ranges::any_of(
      effects, [](const ValueEffect& effect) { return effect.test && effect.test->difference.n < kFewPairs; });
}

std::vector<Cell> RowOf(const SweepGrid& grid, const ValueEffect& effect) {
  std::vector<Cell> row = {
      Cell::Text(grid.axes[effect.axis]), Cell::Text(effect.value), Cell::Count(effect.runs),
      effect.runs == 0 ? Cell::Nothing() : Cell::Number(effect.mean, ScoreInWords(grid.metric, effect.mean))};
  if (!effect.test) {
    row.insert(row.end(), 11, Cell::Nothing());
    return row;
  }
  const PairedTest& test = *effect.test;
  const MeanEstimate& difference = test.difference;
  const auto of_metric = [&](double value) { return Cell::Number(value, DifferenceInWords(grid.metric, value)); };
  const auto p = [](double value) { return Cell::Number(value, PText(value)); };
  row.push_back(Cell::Count(difference.n));
  row.push_back(difference.n == 0 ? Cell::Nothing() : of_metric(difference.mean));
  row.push_back(difference.interval ? of_metric(difference.interval->low) : Cell::Nothing());
  row.push_back(difference.interval ? of_metric(difference.interval->high) : Cell::Nothing());
  row.push_back(p(test.p));
  row.push_back(p(test.p_holm));
  row.push_back(p(test.sign_p));
  row.push_back(p(test.equivalence_p));
  row.push_back(p(test.equivalence_p_holm));
  row.push_back(Cell::Text(FindingInWords(grid, test.finding)));
  row.push_back(test.needed ? Cell::Count(*test.needed) : Cell::Nothing());
  return row;
}

}  // namespace

std::vector<ValueEffect> EffectsOf(const SweepGrid& grid, const std::vector<PointSummary>& points) {
  std::vector<ValueEffect> effects;
  std::vector<std::vector<double>> differences;
  for (size_t axis = 0; axis < grid.axes.size(); ++axis) {
    const std::vector<std::string> values = ValuesOf(grid, axis);
    if (values.size() < 2) continue;
    const Scores first = ScoresOf(grid, points, axis, values[0]);
    effects.push_back(MeanOf(axis, values[0], first));
    for (size_t i = 1; i < values.size(); ++i) {
      const Scores scores = ScoresOf(grid, points, axis, values[i]);
      effects.push_back(MeanOf(axis, values[i], scores));
      effects.back().test.emplace();
      differences.push_back(Differences(first, scores));
    }
  }
  const std::vector<PairedTest> tests = TestPaired(differences, grid.margin);
  auto next = tests.begin();
  for (ValueEffect& effect : effects) {
    if (effect.test) effect.test = *next++;
  }
  return effects;
}

DataTable EffectsTable(const SweepGrid& grid, const std::vector<ValueEffect>& effects) {
  const bool margin = grid.margin > 0;
  DataTable table({{"axis", "AXIS"},
                   {"value", "VALUE"},
                   {"runs", "RUNS", true},
                   {"mean", absl::StrCat(HeadingOf(grid.metric), " MEAN"), true},
                   {"pairs", "PAIRS", true},
                   {"difference", "DIFFERENCE", true},
                   {"low", "95 % FROM", true},
                   {"high", "TO", true},
                   {"p", "P", true},
                   {"p_holm", "P, HOLM", true},
                   {"p_sign", AnyFewPairs(effects) ? "P, SIGNS" : "", true},
                   {"p_equivalence", "", true},
                   {"p_equivalence_holm", margin ? "P, MARGIN" : "", true},
                   {"shown", "SHOWN"},
                   {"pairs_needed", "PAIRS NEEDED", true}});
  for (const ValueEffect& effect : effects) table.Add(RowOf(grid, effect));
  return table;
}

std::string EffectsInWords(const SweepGrid& grid, const std::vector<ValueEffect>& effects) {
  const auto comparisons =
      std::ranges::count_if(effects, [](const ValueEffect& effect) { return effect.test.has_value(); });
  std::string text = absl::StrFormat(
      "Mean over the grid. Each value is compared with the first of its axis by pairs of runs that share the seed and "
      "the other axes (t test). P, HOLM is corrected for %d comparisons; a value below 0.05 shows a difference",
      comparisons);
  if (AnyFewPairs(effects)) {
    absl::StrAppend(&text, "; below ", kFewPairs, " pairs, only if all differences have one sign");
  }
  absl::StrAppend(&text, ".");
  if (grid.margin > 0) {
    absl::StrAppend(&text, " Equivalent: the difference is within ", MarginInWords(grid.metric, grid.margin),
                    " (two one-sided tests, P, MARGIN corrected likewise).");
  }
  return text;
}

}  // namespace vitrine
