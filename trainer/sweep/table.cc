// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/charts/grouped_dots.h"
#include "common/charts/html/data_table.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

struct Rows {
  std::vector<DataTable::Column> columns;
  std::vector<std::vector<Cell>> rows;
};

bool IsFraction(const std::string& metric) {
  return absl::EndsWith(metric, "top1") || absl::EndsWith(metric, "top5") || absl::EndsWith(metric, "accuracy");
}

// Returns a heading: "test/top1 %".
std::string HeadingOf(const std::string& metric) {
  return IsFraction(metric) ? metric + " %" : metric;
}

double Shown(const std::string& metric, double value) {
  return IsFraction(metric) ? 100 * value : value;
}

std::string InWords(const std::string& metric, double value) {
  return IsFraction(metric) ? absl::StrFormat("%.2f", 100 * value) : absl::StrFormat("%.4g", value);
}

// Returns the mean and, with several seeds, the deviation: "98.12 (0.21)". Fractions are in percent, to two decimals.
std::string MeanInWords(const std::string& metric, const PointSummary& point) {
  const std::string mean = InWords(metric, point.mean);
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
  const auto number = [&](double value) { return Cell::Number(value, InWords(grid.metric, value)); };
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

Rows RowsOf(const SweepGrid& grid, const std::vector<PointSummary>& points) {
  Rows rows;
  for (const std::string& axis : grid.axes) rows.columns.push_back({NameOf(axis), axis});
  const bool any_missing =
      std::any_of(points.begin(), points.end(), [](const PointSummary& point) { return point.missing > 0; });
  rows.columns.insert(rows.columns.end(), {{"runs", "RUNS", true},
                                           {"missing", any_missing ? "MISSING" : "", true},
                                           {"mean", HeadingOf(grid.metric) + " MEAN (DEVIATION)  ", true},
                                           {"deviation", "", true},
                                           {"lowest", "LOWEST", true},
                                           {"highest", "HIGHEST", true},
                                           {"seconds", "SECONDS", true},
                                           {"parameters", "PARAMETERS", true},
                                           {"scores", ""}});
  for (size_t i = 0; i < points.size(); ++i) rows.rows.push_back(RowOf(grid, grid.points[i], points[i]));
  return rows;
}

std::string Markdown(const SweepGrid& grid, const Rows& rows) {
  const auto plain = [](const std::string& text) {
    return absl::StrReplaceAll(absl::StripAsciiWhitespace(text), {{"|", "\\|"}});
  };
  std::string head = "|", rule = "|", text;
  for (const DataTable::Column& column : rows.columns) {
    if (column.heading.empty()) continue;
    absl::StrAppend(&head, " ", absl::AsciiStrToLower(plain(column.heading)), " |");
    absl::StrAppend(&rule, column.right ? "---:|" : "---|");
  }
  for (const std::vector<Cell>& row : rows.rows) {
    absl::StrAppend(&text, "|");
    for (size_t i = 0; i < row.size(); ++i) {
      if (!rows.columns[i].heading.empty()) absl::StrAppend(&text, " ", plain(row[i].text), " |");
    }
    absl::StrAppend(&text, "\n");
  }
  std::string title = absl::StrCat("# ", grid.name, "\n\n");
  if (!grid.description.empty()) absl::StrAppend(&title, grid.description, "\n\n");
  return absl::StrCat(title, head, "\n", rule, "\n", text, "\n\\* significantly best mean; sample deviation over ",
                      grid.seeds.size(), " seeds\n");
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

absl::Status WriteText(const std::filesystem::path& file, const std::string& text) {
  if (std::ofstream out(file, std::ios::binary); !(out << text) || !out.flush()) {
    return absl::UnavailableError(absl::StrCat(file.string(), " cannot be written: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

size_t Find(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

}  // namespace

std::string SweepTable(const SweepGrid& grid, const std::vector<PointSummary>& points, SweepFormat format) {
  Rows rows = RowsOf(grid, points);
  if (format == SweepFormat::kMarkdown) return Markdown(grid, rows);
  DataTable table(rows.columns);
  for (std::vector<Cell>& row : rows.rows) table.Add(std::move(row));
  if (format == SweepFormat::kCsv) return table.Print(OutputFormat::kCsv);
  if (format == SweepFormat::kJson) return table.Print(OutputFormat::kJson);
  return table.Print(OutputFormat::kTable);
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
    dots.best = points[i].best && points.size() > 1;
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
  RETURN_IF_ERROR(WriteText(folder / "table.txt", SweepTable(grid, points, SweepFormat::kTable)));
  RETURN_IF_ERROR(WriteText(folder / "table.csv", SweepTable(grid, points, SweepFormat::kCsv)));
  RETURN_IF_ERROR(WriteText(folder / "table.json", SweepTable(grid, points, SweepFormat::kJson)));
  RETURN_IF_ERROR(WriteText(folder / "table.md", SweepTable(grid, points, SweepFormat::kMarkdown)));
  RETURN_IF_ERROR(WriteText(folder / "runs.csv", RunsCsv(grid, outcome)));
  return WriteText(folder / "plot.svg", plot);
}

}  // namespace vitrine
