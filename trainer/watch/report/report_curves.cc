// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/charts/curves.h"
#include "common/charts/html/data_table.h"
#include "trainer/watch/report/report_sections.h"

namespace vitrine {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr int kColours = 6;

bool IsLoss(const std::string& column) {
  return absl::StrContains(column, "loss");
}

// Returns true for a column of fractions. Fractions are drawn in percent.
bool IsShare(const History& history, const std::string& column) {
  if (IsLoss(column) || absl::StrContains(column, "perplexity")) return false;
  return std::ranges::all_of(history.rows, [&](const HistoryRow& row) {
    const auto found = row.scores.find(column);
    return found == row.scores.end() || (found->second >= 0 && found->second <= 1);
  });
}

std::string InWords(const std::string& column) {
  return absl::StrReplaceAll(column, {{"_", " "}});
}

Points ScorePoints(const History& history, const std::string& column, double scale) {
  Points points;
  for (const HistoryRow& row : history.rows) {
    const auto found = row.scores.find(column);
    if (found != row.scores.end()) points.emplace_back(row.epoch, scale * found->second);
  }
  return points;
}

template <typename Value>
Points RowPoints(const History& history, const Value& value) {
  Points points;
  for (const HistoryRow& row : history.rows) points.emplace_back(row.epoch, value(row));
  return points;
}

template <typename Value>
Points StepPoints(const std::vector<StepRow>& steps, const Value& value) {
  Points points;
  for (const StepRow& row : steps) points.emplace_back(static_cast<double>(row.step), value(row));
  return points;
}

std::string StepLosses(const std::vector<StepRow>& steps) {
  const Points points = StepPoints(steps, [](const StepRow& row) { return row.loss; });
  const double window = std::max(1.0, static_cast<double>(points.size()) / 50);
  return DrawCurves(
      {.title = "Training loss of every step",
       .x_axis = "step",
       .y_axis = "loss",
       .curves = {{.name = "step", .points = points, .faint = true},
                  {.name = absl::StrFormat("moving average, %.0f steps", window), .points = Smoothed(points, window)}},
       .logarithmic = false});
}

std::string EpochLosses(const History& history) {
  CurveFigure figure{.title = "Loss of every epoch", .x_axis = "epoch", .y_axis = "loss"};
  figure.curves.push_back({.name = "training",
                           .points = RowPoints(history, [](const HistoryRow& row) { return row.loss; }),
                           .dots = history.rows.size() <= 60});
  for (const std::string& column : history.score_columns) {
    if (!IsLoss(column)) continue;
    Points points = ScorePoints(history, column, 1);
    const bool dots = points.size() <= 60;
    figure.curves.push_back({.name = InWords(column),
                             .points = std::move(points),
                             .colour = static_cast<int>(figure.curves.size()) % kColours,
                             .dots = dots});
  }
  return DrawCurves(figure);
}

std::string Accuracies(const History& history) {
  CurveFigure figure{.title = "Accuracy", .x_axis = "epoch", .y_axis = "%"};
  Points training;
  for (const HistoryRow& row : history.rows) {
    if (!std::isnan(row.train_accuracy)) training.emplace_back(row.epoch, 100 * row.train_accuracy);
  }
  const auto add = [&](const std::string& name, Points points) {
    if (points.empty()) return;
    const bool dots = points.size() <= 60;
    figure.curves.push_back({.name = name,
                             .points = std::move(points),
                             .colour = static_cast<int>(figure.curves.size()) % kColours,
                             .dots = dots});
  };
  add("training, augmented", training);
  for (const std::string& column : history.score_columns) {
    if (IsShare(history, column)) add(InWords(column), ScorePoints(history, column, 100));
  }
  return figure.curves.empty() ? "" : DrawCurves(figure);
}

std::string GradientNorms(const std::vector<StepRow>& steps) {
  const Points points = StepPoints(steps, [](const StepRow& row) { return row.gradient_norm; });
  if (std::ranges::all_of(points, [](const auto& point) { return !(point.second > 0); })) return "";
  const double window = std::max(1.0, static_cast<double>(points.size()) / 50);
  return DrawCurves({.title = "Norm of the gradient before clipping",
                     .x_axis = "step",
                     .y_axis = "norm",
                     .curves = {{.name = "step", .points = points, .faint = true},
                                {.name = "moving average", .points = Smoothed(points, window)}},
                     .logarithmic = true});
}

// Draws the mean norms of the blocks over the first and the last tenth of the steps.
std::string NormsOfBlocks(const Steps& steps) {
  const size_t tenth = std::max<size_t>(1, steps.rows.size() / 10);
  const auto means = [&](size_t begin) {
    Points points;
    for (size_t block = 0; block < steps.blocks.size(); ++block) {
      double sum = 0;
      for (size_t i = begin; i < begin + tenth; ++i) sum += steps.rows[i].block_norms[block];
      points.emplace_back(static_cast<double>(block), sum / static_cast<double>(tenth));
    }
    return points;
  };
  return DrawCurves(
      {.title = "Norm of the gradient of every block",
       .x_axis = "block",
       .y_axis = "norm",
       .curves = {{.name = "first tenth of the steps", .points = means(0), .dots = true},
                  {.name = "last tenth", .points = means(steps.rows.size() - tenth), .colour = 1, .dots = true}},
       .logarithmic = true});
}

// Adds a score's best value and the epoch that reached it.
void AddBest(const History& history, const std::string& column, std::vector<KeyFigure>& figures) {
  const HistoryRow* best = nullptr;
  const HistoryRow* last = nullptr;
  const auto of = [&](const HistoryRow& row) { return row.scores.at(column); };
  const bool smaller = IsLoss(column) || absl::StrContains(column, "perplexity");
  for (const HistoryRow& row : history.rows) {
    if (!row.scores.contains(column)) continue;
    last = &row;
    if (best == nullptr || (smaller ? of(row) < of(*best) : of(row) > of(*best))) best = &row;
  }
  if (best == nullptr) return;
  const bool share = IsShare(history, column);
  const auto text = [&](double value) { return share ? Percent(value) : absl::StrFormat("%.4g", value); };
  figures.push_back({.name = absl::StrCat("best ", InWords(column)),
                     .value = text(of(*best)),
                     .note = absl::StrFormat("at epoch %g; last %s", best->epoch, text(of(*last)))});
}

}  // namespace

std::string Percent(double share) {
  return absl::StrFormat("%.2f %%", 100 * share);
}

void AddKeyFigures(const TrainingReportInput& input, HtmlPage& page) {
  std::vector<KeyFigure> figures;
  for (const Measure& measure : input.score.measures) {
    const bool share = !IsLoss(measure.name) && measure.value >= 0 && measure.value <= 1;
    figures.push_back({.name = absl::StrCat(input.score.split, " ", measure.name),
                       .value = share ? Percent(measure.value) : absl::StrFormat("%.4g", measure.value),
                       .note = input.score.samples == 0
                                   ? ""
                                   : absl::StrCat(WithSeparators(input.score.samples), " ", input.samples_in_words)});
  }
  for (const std::string& column : input.history.score_columns) AddBest(input.history, column, figures);
  if (!input.history.rows.empty()) {
    const HistoryRow& last = input.history.rows.back();
    figures.push_back({"training loss", absl::StrFormat("%.4f", last.loss), "at the end"});
    figures.push_back({"epochs", absl::StrFormat("%g", last.epoch), absl::StrCat(WithSeparators(last.step), " steps")});
    if (last.samples_per_second > 0) {
      figures.push_back({absl::StrCat(input.samples_in_words, " per second"),
                         absl::StrFormat("%.0f", last.samples_per_second), "while training"});
    }
  }
  if (input.model != nullptr) {
    figures.push_back({"parameters", WithSeparators(input.model->CountParameters()), input.recipe.model()});
  }
  page.KeyFigures(figures);
}

void AddCurves(const TrainingReportInput& input, HtmlPage& page) {
  if (input.steps.rows.empty() && input.history.rows.empty()) return;
  page.Section("Curves");
  std::vector<std::string> charts;
  const auto add = [&](std::string chart) {
    if (!chart.empty()) charts.push_back(std::move(chart));
  };
  if (!input.history.rows.empty()) {
    add(Accuracies(input.history));
    add(EpochLosses(input.history));
  }
  if (!input.steps.rows.empty()) {
    add(StepLosses(input.steps.rows));
    add(DrawCurves(
        {.title = "Learning rate",
         .x_axis = "step",
         .y_axis = "rate",
         .curves = {{.name = "", .points = StepPoints(input.steps.rows, [](const StepRow& row) { return row.lr; })}}}));
    add(GradientNorms(input.steps.rows));
    if (!input.steps.blocks.empty()) add(NormsOfBlocks(input.steps));
  }
  page.Charts(charts);
}

}  // namespace vitrine
