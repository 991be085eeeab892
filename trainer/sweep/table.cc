// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/table.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/charts/grouped_dots.h"
#include "common/charts/html/data_table.h"
#include "common/file/replace.h"
#include "common/status_macros.h"
#include "trainer/sweep/effects.h"
#include "trainer/sweep/words.h"

namespace vitrine {
namespace {

double Shown(const std::string& metric, double value) {
  return IsFraction(metric) ? 100 * value : value;
}

// Returns the mean and, with several seeds, the deviation: "98.12 (0.21)". Fractions are in percent, to two decimals.
std::string MeanInWords(const std::string& metric, const PointSummary& point) {
  const std::string mean = ScoreInWords(metric, point.mean);
  if (point.seeds.size() < 2) return mean;
  return absl::StrCat(
      mean, " (",
      IsFraction(metric) ? absl::StrFormat("%.2f", 100 * point.deviation) : absl::StrFormat("%.2g", point.deviation),
      ")");
}

std::string NameOf(const std::string& axis) {
  return absl::StrReplaceAll(axis, {{" ", "_"}});
}

std::vector<Cell> RowOf(const SweepGrid& grid, const SweepPoint& labels, const PointSummary& point) {
  std::vector<Cell> row;
  for (const std::string& label : labels.labels) row.push_back(Cell::Text(label));
  row.push_back(Cell::Count(static_cast<int64_t>(point.seeds.size())));
  row.push_back(Cell::Count(static_cast<int64_t>(point.missing)));
  if (point.seeds.empty()) {
    row.insert(row.end(), 7, Cell::Nothing());
    return row;
  }
  const auto number = [&](double value) { return Cell::Number(value, ScoreInWords(grid.metric, value)); };
  row.push_back({point.mean, MeanInWords(grid.metric, point) + (point.best ? " *" : "  ")});
  row.push_back(point.seeds.size() < 2 ? Cell::Nothing() : number(point.deviation));
  row.push_back(number(point.lowest));
  row.push_back(number(point.highest));
  row.push_back(Cell::Number(point.seconds, absl::StrFormat("%.0f", point.seconds)));
  row.push_back(Cell::Count(point.parameters));
  nlohmann::ordered_json scores = nlohmann::ordered_json::object();
  std::vector<std::string> words;
  for (const SeedScore& seed : point.seeds) {
    scores[absl::StrCat(seed.seed)] = seed.score;
    words.push_back(absl::StrFormat("%d:%.6g", seed.seed, seed.score));
  }
  row.push_back({std::move(scores), absl::StrJoin(words, " ")});
  return row;
}

DataTable TableOf(const SweepGrid& grid, const std::vector<PointSummary>& points) {
  std::vector<DataTable::Column> columns;
  for (const std::string& axis : grid.axes) columns.push_back({NameOf(axis), axis});
  const bool any_missing =
      std::any_of(points.begin(), points.end(), [](const PointSummary& point) { return point.missing > 0; });
  columns.insert(columns.end(), {{"runs", "RUNS", true},
                                 {"missing", any_missing ? "MISSING" : "", true},
                                 {"mean", HeadingOf(grid.metric) + " MEAN (DEVIATION)  ", true},
                                 {"deviation", "", true},
                                 {"lowest", "LOWEST", true},
                                 {"highest", "HIGHEST", true},
                                 {"seconds", "SECONDS", true},
                                 {"parameters", "PARAMETERS", true},
                                 {"scores", ""}});
  DataTable table(std::move(columns));
  for (size_t i = 0; i < points.size(); ++i) table.Add(RowOf(grid, grid.points[i], points[i]));
  return table;
}

std::string Text(const SweepGrid& grid, const std::vector<PointSummary>& points) {
  const std::string table = TableOf(grid, points).Print(OutputFormat::kTable);
  const std::vector<ValueEffect> effects = EffectsOf(grid, points);
  if (effects.empty()) return table;
  return absl::StrCat(table, "\n", EffectsTable(grid, effects).Print(OutputFormat::kTable), "\n",
                      EffectsInWords(grid, effects), "\n");
}

std::string Markdown(const SweepGrid& grid, const std::vector<PointSummary>& points) {
  std::string text = absl::StrCat("# ", grid.name, "\n\n");
  if (!grid.description.empty()) absl::StrAppend(&text, grid.description, "\n\n");
  absl::StrAppend(&text, TableOf(grid, points).AsMarkdown(), "\n\\* significantly best mean; sample deviation over ",
                  grid.seeds.size(), " seeds\n");
  const std::vector<ValueEffect> effects = EffectsOf(grid, points);
  if (effects.empty()) return text;
  return absl::StrCat(text, "\n## Differences\n\n", EffectsInWords(grid, effects), "\n\n",
                      EffectsTable(grid, effects).AsMarkdown());
}

// Returns all scores of every finished run.
std::string RunsCsv(const SweepGrid& grid, const SweepOutcome& outcome) {
  std::set<std::string> scores;
  for (const auto& result : outcome.results) {
    if (!result) continue;
    for (const auto& [name, value] : result->scores) scores.insert(name);
  }
  std::vector<DataTable::Column> columns;
  for (const std::string& axis : grid.axes) columns.push_back({NameOf(axis), ""});
  for (const char* name : {"seed", "run", "epochs", "seconds"}) columns.push_back({name, ""});
  for (const std::string& name : scores) columns.push_back({name, ""});
  DataTable table(columns);
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    if (!outcome.results[i]) continue;
    const CellResult& result = *outcome.results[i];
    std::vector<Cell> row;
    for (const std::string& label : grid.points[grid.cells[i].point].labels) row.push_back(Cell::Text(label));
    row.push_back({grid.cells[i].seed, ""});
    row.push_back(Cell::Text(grid.cells[i].name));
    row.push_back({result.epochs, ""});
    row.push_back({result.seconds, ""});
    for (const std::string& name : scores) {
      const auto found = result.scores.find(name);
      row.push_back(found == result.scores.end() ? Cell::Nothing() : Cell{found->second, ""});
    }
    table.Add(std::move(row));
  }
  return table.Print(OutputFormat::kCsv);
}

size_t Find(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

}  // namespace

std::string SweepTable(const SweepGrid& grid, const std::vector<PointSummary>& points, SweepFormat format) {
  switch (format) {
    case SweepFormat::kMarkdown:
      return Markdown(grid, points);
    case SweepFormat::kCsv:
      return TableOf(grid, points).Print(OutputFormat::kCsv);
    case SweepFormat::kJson:
      return TableOf(grid, points).Print(OutputFormat::kJson);
    case SweepFormat::kTable:
      break;
  }
  return Text(grid, points);
}

absl::StatusOr<std::string> SweepPlot(const SweepGrid& grid, const std::vector<PointSummary>& points) {
  DotsFigure figure;
  figure.title = grid.name;
  figure.note = grid.description.empty() ? absl::StrCat("mean and deviation over ", grid.seeds.size(), " seeds")
                                         : grid.description;
  figure.x_name = grid.axes.empty() ? "" : grid.axes[0];
  figure.y_name = HeadingOf(grid.metric);
  if (grid.axes.size() > 1) {
    figure.series_name = absl::StrJoin(grid.axes.begin() + 1, grid.axes.end(), ", ");
  }
  for (size_t i = 0; i < points.size(); ++i) {
    const std::vector<std::string>& labels = grid.points[i].labels;
    DotsFigure::Dots dots;
    dots.group = Find(figure.groups, labels.empty() ? "recipe" : labels[0]);
    dots.series = Find(figure.series, labels.size() < 2 ? "" : absl::StrJoin(labels.begin() + 1, labels.end(), ", "));
    for (const SeedScore& seed : points[i].seeds) dots.values.push_back(Shown(grid.metric, seed.score));
    dots.mean = Shown(grid.metric, points[i].mean);
    dots.deviation = Shown(grid.metric, points[i].deviation);
    dots.best = points[i].best;
    if (!dots.values.empty()) figure.dots.push_back(std::move(dots));
  }
  return DrawGroupedDots(figure);
}

absl::Status WriteSweepReport(const SweepGrid& grid, const std::vector<PointSummary>& points,
                              const SweepOutcome& outcome, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder.string(), ": ", error.message()));
  ASSIGN_OR_RETURN(const std::string plot, SweepPlot(grid, points));
  const DataTable effects = EffectsTable(grid, EffectsOf(grid, points));
  const std::pair<const char*, std::string> files[] = {{"table.txt", SweepTable(grid, points, SweepFormat::kTable)},
                                                       {"table.csv", SweepTable(grid, points, SweepFormat::kCsv)},
                                                       {"table.json", SweepTable(grid, points, SweepFormat::kJson)},
                                                       {"table.md", SweepTable(grid, points, SweepFormat::kMarkdown)},
                                                       {"effects.csv", effects.Print(OutputFormat::kCsv)},
                                                       {"effects.json", effects.Print(OutputFormat::kJson)},
                                                       {"runs.csv", RunsCsv(grid, outcome)},
                                                       {"plot.svg", plot}};
  for (const auto& [name, text] : files) RETURN_IF_ERROR(ReplaceFile((folder / name).string(), text));
  return absl::OkStatus();
}

}  // namespace vitrine
