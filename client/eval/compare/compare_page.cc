// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/compare_page.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/eval/compare/compare_print.h"
#include "client/eval/page/look.h"
#include "client/eval/page/page_sections.h"
#include "common/charts/calibration.h"
#include "common/charts/histogram.h"
#include "common/charts/html/html.h"
#include "common/charts/shaded_matrix.h"
#include "common/statistics/significance.h"

namespace vitrine {
namespace {

constexpr size_t kCards = 24;        // maximum images shown per list of changed images
constexpr size_t kMostFlips = 1000;  // maximum changed images listed by name
constexpr size_t kMostClassRows = 100;

// Returns an HTML table with these columns and the texts of the DataTable's cells.
HtmlTable AsHtml(const DataTable& table, std::vector<HtmlTable::Column> columns) {
  return {.columns = std::move(columns), .rows = table.Texts()};
}

void AddKeyFigures(const Comparison& comparison, HtmlPage& page) {
  const int64_t all = comparison.counts.all();
  page.KeyFigures(
      {{"top-1, first", PercentText(comparison.first_metrics.top1),
        IntervalInWords(comparison.first_metrics.top1_correct, all)},
       {"top-1, second", PercentText(comparison.second_metrics.top1),
        IntervalInWords(comparison.second_metrics.top1_correct, all)},
       {"difference", PointsText(PairedDifference(comparison.counts)),
        absl::StrFormat("95 %% interval %+.2f to %+.2f points", 100 * comparison.interval.low,
                        100 * comparison.interval.high)},
       {"p, McNemar", PText(comparison.test.p), comparison.test.exact ? "exact" : "with continuity correction"}});
  page.Paragraph(VerdictInWords(comparison));
}

void AddRuns(const Comparison& comparison, HtmlPage& page) {
  page.Section("Both evaluations", ImagesInWords(comparison));
  HtmlTable table{.columns = {{""}, {"first"}, {"second"}}};
  const Evaluation &first = comparison.first, &second = comparison.second;
  const auto add = [&](const char* what, const std::string& a, const std::string& b) {
    if (!a.empty() || !b.empty()) table.rows.push_back({what, a, b});
  };
  const auto resolution = [](const Evaluation& of) {
    return of.settings.resolution.empty() ? std::string("the model's policy") : of.settings.resolution;
  };
  add("model", RunTitle(first), RunTitle(second));
  add("weights, SHA-256", first.model.weights_sha256(), second.model.weights_sha256());
  add("recipe", first.model.provenance().recipe(), second.model.provenance().recipe());
  add("data", first.data, second.data);
  add("resolution", resolution(first), resolution(second));
  page.Table(table);
}

std::string DrawCounts(const PairedCounts& counts) {
  ShadedMatrix matrix;
  matrix.title = "Right and wrong";
  matrix.note = "images by what the first (row) and the second (column) made of them";
  matrix.row_axis = "first";
  matrix.column_axis = "second";
  matrix.rows = matrix.columns = {"right", "wrong"};
  for (const int64_t count : {counts.both, counts.only_first, counts.only_second, counts.neither}) {
    const double share = static_cast<double>(count) / static_cast<double>(counts.all());
    matrix.cells.push_back({.shade = share,
                            .text = WithSeparators(count),
                            .tip = absl::StrCat(WithSeparators(count), " images, ", PercentText(share))});
  }
  return absl::StrCat("<div style=\"max-width:24rem\">", DrawShadedMatrix(matrix), "</div>");
}

HtmlTable MeasuresAsHtml(const Comparison& comparison) {
  HtmlTable table =
      AsHtml(MeasuresOf(comparison),
             {{"measure"}, {"first", true}, {"second", true}, {"difference", true}, {"95 % from", true}, {"to", true}});
  for (auto& row : table.rows) std::ranges::replace(row.front(), '_', ' ');
  return table;
}

void AddMeasures(const Comparison& comparison, HtmlPage& page) {
  page.Section("Measures",
               "Each latency is from its own run: compare latencies only if both runs used one machine and the same "
               "load.");
  page.Charts({DrawCounts(comparison.counts)});
  page.Table(MeasuresAsHtml(comparison));
}

void AddClasses(const Comparison& comparison, HtmlPage& page) {
  HtmlTable table = AsHtml(ClassesOf(comparison), {{"class"},
                                                   {"images", true},
                                                   {"recall, first", true},
                                                   {"second", true},
                                                   {"difference", true},
                                                   {"only first right", true},
                                                   {"only second right", true},
                                                   {"p", true},
                                                   {"p, Holm", true}});
  std::string note =
      "The largest differences first. p is McNemar's within the class; the column p, Holm is corrected for the number "
      "of "
      "classes by Holm's method and shows a difference if it is below 0.05.";
  if (table.rows.size() > kMostClassRows) {
    absl::StrAppend(&note, " ", kMostClassRows, " of ", table.rows.size(), " classes.");
    table.rows.resize(kMostClassRows);
  }
  page.Section("Classes", note);
  page.Table(table);
}

void AddCalibration(const Comparison& comparison, HtmlPage& page) {
  page.Section("Calibration");
  page.Paragraph(absl::StrCat("First: ", CalibrationInWords(comparison.first_metrics.calibration)));
  page.Paragraph(absl::StrCat("Second: ", CalibrationInWords(comparison.second_metrics.calibration)));
  page.Charts({DrawReliability(comparison.first_metrics.calibration, "Reliability, first"),
               DrawReliability(comparison.second_metrics.calibration, "Reliability, second")});
}

void AddLatency(const Comparison& comparison, HtmlPage& page) {
  HistogramFigure figure{.title = "Time of an image, as the client saw it",
                         .x_axis = "milliseconds",
                         .y_axis = "images",
                         .logarithmic = true,
                         .bins = 60,
                         .series = {{.name = "first"}, {.name = "second", .colour = 1}}};
  HistogramFigure compute = figure;
  compute.title = "Forward pass of its batch";
  for (const PredictionPair& pair : comparison.pairs) {
    figure.series[0].values.push_back(1000 * pair.first->seconds.client);
    figure.series[1].values.push_back(1000 * pair.second->seconds.client);
    compute.series[0].values.push_back(1000 * pair.first->seconds.compute);
    compute.series[1].values.push_back(1000 * pair.second->seconds.compute);
  }
  page.Section("Latency");
  page.Charts({DrawHistogram(figure), DrawHistogram(compute)});
}

void AddFlips(const Comparison& comparison, const std::vector<PredictionPair>& flips, const std::string& title,
              const Dataset* data, HtmlPage& page) {
  page.Section(title, flips.empty() ? "None."
                                    : absl::StrCat(WithSeparators(static_cast<int64_t>(flips.size())),
                                                   " images; the most confident answers of the second first."));
  if (flips.empty()) return;
  std::vector<const Prediction*> shown;
  for (size_t i = 0; i < std::min(kCards, flips.size()); ++i) shown.push_back(flips[i].first);
  const Looks looks = LookAt({.data = data}, shown);
  if (!looks.fault.empty()) page.Paragraph(looks.fault);
  const auto said = [](const Evaluation& by, const Prediction& prediction) {
    const Guess& best = prediction.guesses.front();
    return absl::StrFormat("%s, %.1f %%", LabelOf(by.model, best.index), 100 * best.probability);
  };
  std::vector<ImageCard> cards;
  for (size_t i = 0; i < shown.size(); ++i) {
    ImageCard& card = cards.emplace_back();
    card.images = looks.images[i];
    card.lines = {absl::StrCat("label: ", LabelOf(comparison.first.model, flips[i].first->label)),
                  absl::StrCat("first: ", said(comparison.first, *flips[i].first)),
                  absl::StrCat("second: ", said(comparison.second, *flips[i].second)), flips[i].first->name};
  }
  page.Cards(cards);
  std::string names;
  for (size_t i = 0; i < std::min(kMostFlips, flips.size()); ++i) {
    absl::StrAppend(&names, flips[i].first->name, "\t", LabelOf(comparison.first.model, flips[i].first->label), "\t",
                    said(comparison.first, *flips[i].first), "\t", said(comparison.second, *flips[i].second), "\n");
  }
  if (flips.size() > kMostFlips)
    absl::StrAppend(&names, "and ", flips.size() - kMostFlips, " more; --format json has them\n");
  if (flips.size() > shown.size()) page.Folded("All images: image, label, first, second", names);
}

}  // namespace

std::string DrawComparison(const Comparison& comparison, const Dataset* data) {
  HtmlPage page(absl::StrCat(RunTitle(comparison.first), " and ", RunTitle(comparison.second)),
                absl::StrCat("two evaluations compared image by image, on the ", comparison.first.settings.split,
                             " split of ", comparison.first.data));
  AddKeyFigures(comparison, page);
  AddRuns(comparison, page);
  AddMeasures(comparison, page);
  AddClasses(comparison, page);
  AddFlips(comparison, comparison.right_to_wrong, "Right, then wrong", data, page);
  AddFlips(comparison, comparison.wrong_to_right, "Wrong, then right", data, page);
  AddCalibration(comparison, page);
  AddLatency(comparison, page);
  return page.Print();
}

std::string DrawComparisons(const Comparisons& comparisons) {
  const Evaluation& first = comparisons.front()->first;
  HtmlPage page(absl::StrCat(comparisons.size(), " evaluations compared with ", RunTitle(first)),
                absl::StrCat("image by image, on the ", first.settings.split, " split of ", first.data));
  page.Section(
      "Differences",
      absl::StrCat("Each is compared with ", RunTitle(first),
                   " on the images that both answered. p is "
                   "McNemar's; the column p, Holm is corrected for ",
                   comparisons.size(), " comparisons by Holm's method and shows a difference if it is below 0.05."));
  page.Table(AsHtml(SeveralOf(comparisons), {{"second"},
                                             {"images", true},
                                             {"top-1, first", true},
                                             {"second", true},
                                             {"difference", true},
                                             {"95 % from", true},
                                             {"to", true},
                                             {"p", true},
                                             {"p, Holm", true},
                                             {"shown"}}));
  for (const std::unique_ptr<Comparison>& of : comparisons) {
    page.Section(RunTitle(of->second), VerdictInWords(*of));
    page.Paragraph(ImagesInWords(*of));
    page.Table(MeasuresAsHtml(*of));
  }
  return page.Print();
}

}  // namespace vitrine
