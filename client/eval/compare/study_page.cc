// SPDX-License-Identifier: Apache-2.0
// Prints a study as a table and as a page.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/eval/compare/study.h"
#include "client/eval/compare/study_differences.h"
#include "client/eval/page/page_sections.h"
#include "common/charts/html/figures.h"
#include "common/charts/html/html.h"
#include "common/charts/scatter.h"
#include "common/file/replace.h"
#include "common/file/write.h"
#include "common/statistics/proportion.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kColours = 6;

std::string MacsText(double macs) {
  if (macs >= 1e9) return absl::StrFormat("%.4g G", macs / 1e9);
  if (macs >= 1e6) return absl::StrFormat("%.4g M", macs / 1e6);
  return absl::StrFormat("%.4g k", macs / 1e3);
}

// Returns true if StudyTable marks the cell as `frontier`.
bool OnFrontier(const Study& study, const StudyCell& cell) {
  if (!cell.comparable() || !cell.macs) return false;
  return std::ranges::none_of(study.cells, [&](const StudyCell& other) {
    if (!other.comparable() || !other.macs) return false;
    const double more = other.metrics.top1 - cell.metrics.top1, fewer = *cell.macs - *other.macs;
    return more >= 0 && fewer >= 0 && (more > 0 || fewer > 0);
  });
}

double MedianOf(const StudyCell& cell, const char* stage) {
  const auto found = cell.metrics.latency.find(stage);
  return found == cell.metrics.latency.end() ? 0 : found->second.p50;
}

std::string Remark(const StudyCell& cell) {
  if (!cell.status.ok()) return std::string(cell.status.message());
  const EvaluationLedger& ledger = cell.metrics.ledger;
  if (ledger.complete()) return "";
  return absl::StrCat(WithSeparators(ledger.answered), " of ", WithSeparators(ledger.images), " images answered");
}

std::string PointLabel(const StudyCell& cell) {
  return cell.comparable() ? cell.resolution
                           : absl::StrCat(cell.resolution, cell.resolution.empty() ? "" : ", ", "incomplete");
}

using Place = std::optional<double> (*)(const StudyCell& cell);

// Draws the accuracy as a function of the measure that `place` returns, for example the median latency. Each model
// version is a series, sorted by the measure.
std::string DrawAccuracy(const Study& study, const std::string& title, const std::string& x_axis, Place place) {
  ScatterFigure figure{.title = title, .x_axis = x_axis, .y_axis = "top-1 accuracy in %", .logarithmic = true};
  std::map<std::string, size_t> series_of;
  for (const StudyCell& cell : study.cells) {
    const std::optional<double> x = place(cell);
    if (!cell.measured() || !x) continue;
    const std::string name = absl::StrCat(cell.model, " version ", cell.version);
    const auto [found, fresh] = series_of.emplace(name, figure.series.size());
    if (fresh) figure.series.push_back({.name = name, .colour = static_cast<int>(found->second) % kColours});
    const Interval interval = WilsonInterval(cell.metrics.top1_correct, cell.metrics.ledger.answered);
    figure.series[found->second].points.push_back({.x = *x,
                                                   .y = 100 * cell.metrics.top1,
                                                   .low = 100 * interval.low,
                                                   .high = 100 * interval.high,
                                                   .label = PointLabel(cell)});
  }
  for (ScatterFigure::Series& series : figure.series) {
    std::ranges::stable_sort(series.points, {}, &ScatterFigure::Point::x);
  }
  return DrawScatter(figure);
}

std::string ModelAndVersion(const StudyCell& cell) {
  return absl::StrCat(cell.model, cell.version > 0 ? absl::StrCat(" version ", cell.version) : "");
}

std::string SizeInWords(const StudyCell& cell) {
  return cell.resolution.empty() ? "the model's policy" : cell.resolution;
}

// Returns a relative path for a URL: percent-encodes every byte except letters, digits and "-_./~".
std::string UrlPath(const std::string& path) {
  std::string url;
  for (const char c : path) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./~", c)) {
      url += c;
    } else {
      absl::StrAppendFormat(&url, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return url;
}

void AddBest(const Study& study, HtmlPage& page) {
  const StudyCell* best = nullptr;
  for (const StudyCell& cell : study.cells) {
    if (cell.comparable() && (best == nullptr || cell.metrics.top1 > best->metrics.top1)) best = &cell;
  }
  const auto measured = std::ranges::count_if(study.cells, &StudyCell::measured);
  std::vector<KeyFigure> figures = {
      {"cells", absl::StrCat(measured), absl::StrCat("of ", study.cells.size(), " have results")}};
  if (best != nullptr) {
    figures.push_back({"highest top-1", PercentText(best->metrics.top1),
                       absl::StrCat(ModelAndVersion(*best), ", ", SizeInWords(*best))});
  }
  page.KeyFigures(figures);
}

void AddMeasured(const Study& study, HtmlPage& page) {
  HtmlTable table{.columns = {{"model"},
                              {"size", true},
                              {"top-1", true},
                              {"95 % interval", true},
                              {"top-5", true},
                              {"ECE", true},
                              {"multiply-adds", true},
                              {"tokens", true},
                              {"latency", true},
                              {"images / s", true},
                              {"frontier", true},
                              {""}}};
  for (const StudyCell& cell : study.cells) {
    if (!cell.measured()) continue;
    const EvaluationMetrics& metrics = cell.metrics;
    const Interval interval = WilsonInterval(metrics.top1_correct, metrics.ledger.answered);
    table.rows.push_back({ModelAndVersion(cell), SizeInWords(cell), PercentText(metrics.top1),
                          absl::StrFormat("%.2f to %.2f", 100 * interval.low, 100 * interval.high),
                          HasTop5(metrics) ? PercentText(metrics.top5) : "-",
                          PercentText(metrics.calibration.ExpectedError()), cell.macs ? MacsText(*cell.macs) : "-",
                          cell.tokens ? absl::StrFormat("%.4g", *cell.tokens) : "-",
                          DurationText(MedianOf(cell, "client")), absl::StrFormat("%.4g", metrics.images_per_second),
                          OnFrontier(study, cell) ? "yes" : "", Remark(cell)});
  }
  page.Section(
      "Cells",
      "Each cell has a report in its folder. Frontier: no other cell is at least as accurate with at most as "
      "many multiply-adds, and better in one of the two. The frontier has only cells with an answer for every readable "
      "image. Latency is the median that the client measured.");
  page.Table(table);
  std::string links;
  for (const StudyCell& cell : study.cells) {
    if (!cell.measured()) continue;
    absl::StrAppend(&links, links.empty() ? "" : ", ", "<a href=\"", EscapeHtml(UrlPath(cell.folder)),
                    "/report.html\">", EscapeHtml(absl::StrCat(ModelAndVersion(cell), ", ", SizeInWords(cell))),
                    "</a>");
  }
  if (!links.empty()) page.Add(absl::StrCat("<p>Reports: ", links, "</p>\n"));
}

void AddDifferences(const Study& study, HtmlPage& page) {
  HtmlTable table{.columns = {{"model"},
                              {"size"},
                              {"images", true},
                              {"difference", true},
                              {"95 % from", true},
                              {"to", true},
                              {"p", true},
                              {"p, Holm", true},
                              {"shown"}},
                  .rows = DifferencesTable(study).Texts()};
  if (table.rows.empty()) return;
  const StudyCell& first = study.cells[FirstMeasured(study)];
  page.Section("Differences",
               absl::StrCat("Top-1 differences from ", ModelAndVersion(first), " at ", SizeInWords(first),
                            ", on the images that both answered. p is McNemar's; the column p, Holm is corrected for ",
                            "the number of comparisons, ", table.rows.size(),
                            ", by Holm's method and shows a difference if it is below 0.05."));
  page.Table(table);
}

std::vector<DataTable::Column> StudyColumns() {
  return {{"model", "MODEL"},
          {"version", "VERSION", true},
          {"resolution", "SIZE"},
          {"pictures", ""},
          {"answered", "ANSWERED", true},
          {"top1", "TOP-1", true},
          {"top1_low", ""},
          {"top1_high", ""},
          {"top5", "TOP-5", true},
          {"calibration_error", "ECE", true},
          {"macs", "MACS", true},
          {"tokens", "TOKENS", true},
          {"latency_p50", "LATENCY", true},
          {"latency_p99", ""},
          {"compute_p50", ""},
          {"pictures_per_second", "IMAGES/S", true},
          {"frontier", ""},
          {"folder", ""},
          {"nll", ""},
          {"brier", ""},
          {"difference", ""},
          {"difference_low", ""},
          {"difference_high", ""},
          {"p", ""},
          {"p_holm", ""},
          {"remark", "REMARK"}};
}

void AddOthers(const Study& study, HtmlPage& page) {
  HtmlTable table{.columns = {{"model"}, {"size"}, {"why"}}};
  for (const StudyCell& cell : study.cells) {
    if (!cell.measured()) table.rows.push_back({ModelAndVersion(cell), SizeInWords(cell), Remark(cell)});
  }
  if (table.rows.empty()) return;
  page.Section("Cells without results");
  page.Table(table);
}

}  // namespace

DataTable StudyTable(const Study& study) {
  DataTable table(StudyColumns());
  const std::vector<std::optional<StudyDifference>> differences = DifferencesOf(study);
  for (size_t i = 0; i < study.cells.size(); ++i) {
    const StudyCell& cell = study.cells[i];
    const std::optional<StudyDifference>& difference = differences[i];
    const EvaluationMetrics& metrics = cell.metrics;
    const Interval interval = WilsonInterval(metrics.top1_correct, metrics.ledger.answered);
    const auto number = [&](double value, const std::string& text) {
      return cell.measured() ? Cell::Number(value, text) : Cell::Nothing();
    };
    const auto optional = [](const std::optional<double>& value, const std::string& text) {
      return value ? Cell::Number(*value, text) : Cell::Nothing();
    };
    const auto mean = [](const std::optional<MeanScore>& score) {
      return score ? Cell::Number(score->mean, "") : Cell::Nothing();
    };
    const auto from_first = [&](double value) { return difference ? Cell::Number(value, "") : Cell::Nothing(); };
    const StudyDifference of = difference.value_or(StudyDifference());
    const auto p99 = metrics.latency.find("client");
    table.Add({Cell::Text(cell.model),
               cell.version > 0 ? Cell::Count(cell.version) : Cell::Nothing(),
               Cell::Text(cell.resolution),
               cell.measured() ? Cell::Count(metrics.ledger.images) : Cell::Nothing(),
               cell.measured() ? Cell::Count(metrics.ledger.answered) : Cell::Nothing(),
               number(metrics.top1, PercentText(metrics.top1)),
               number(interval.low, ""),
               number(interval.high, ""),
               number(metrics.top5, PercentText(metrics.top5)),
               number(metrics.calibration.ExpectedError(), PercentText(metrics.calibration.ExpectedError())),
               optional(cell.macs, MacsText(cell.macs.value_or(0))),
               optional(cell.tokens, absl::StrFormat("%.4g", cell.tokens.value_or(0))),
               number(MedianOf(cell, "client"), DurationText(MedianOf(cell, "client"))),
               number(p99 == metrics.latency.end() ? 0 : p99->second.p99, ""),
               number(MedianOf(cell, "compute"), ""),
               number(metrics.images_per_second, absl::StrFormat("%.4g", metrics.images_per_second)),
               Cell{OnFrontier(study, cell), ""},
               Cell::Text(cell.folder),
               mean(metrics.nll),
               mean(metrics.brier),
               from_first(PairedDifference(of.counts)),
               from_first(of.interval.low),
               from_first(of.interval.high),
               from_first(of.test.p),
               from_first(of.holm),
               Cell::Text(Remark(cell))});
  }
  return table;
}

std::string DrawStudy(const Study& study) {
  HtmlPage page("Accuracy and cost", absl::StrCat("on the ", study.split, " split of ", study.data));
  AddBest(study, page);
  page.Section("Plots",
               "Bars are 95 % intervals (Wilson). Latency and throughput are from bulk runs with many images in "
               "flight.");
  page.Charts(
      {DrawAccuracy(study, "Accuracy and multiply-adds", "multiply-adds of an image, in millions",
                    [](const StudyCell& cell) { return cell.macs ? std::optional(*cell.macs / 1e6) : std::nullopt; }),
       DrawAccuracy(study, "Accuracy and latency", "median latency in ms, as the client saw it",
                    [](const StudyCell& cell) { return std::optional(1000 * MedianOf(cell, "client")); }),
       DrawAccuracy(study, "Accuracy and throughput", "images / s",
                    [](const StudyCell& cell) { return std::optional(cell.metrics.images_per_second); })});
  AddMeasured(study, page);
  AddDifferences(study, page);
  AddOthers(study, page);
  return page.Print();
}

absl::Status WriteStudy(const std::string& folder, const Study& study) {
  RETURN_IF_ERROR(MakeFolder(folder));
  const DataTable table = StudyTable(study);
  nlohmann::ordered_json json = {{"data", study.data}, {"split", study.split}, {"cells", table.AsJson()}};
  const std::filesystem::path out(folder);
  RETURN_IF_ERROR(ReplaceFile((out / "study.json").string(),
                              json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"));
  RETURN_IF_ERROR(ReplaceFile((out / "study.csv").string(), table.Print(OutputFormat::kCsv)));
  return WritePage(out / "study.html", DrawStudy(study));
}

}  // namespace vitrine
