// SPDX-License-Identifier: Apache-2.0
#include "client/eval/compare/compare_print.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/output/text.h"
#include "client/eval/page/page_sections.h"
#include "common/statistics/significance.h"

namespace vitrine {
namespace {

using Json = nlohmann::ordered_json;

class Measures {
 public:
  // Adds a row; `show` formats a value.
  template <typename Show>
  void Add(const std::string& name, double first, double second, Show show) {
    const double difference = second - first;
    Row(name, first, second, show, absl::StrCat(difference < 0 ? "-" : "+", show(std::abs(difference))));
  }
  void AddShare(const std::string& name, double first, double second, std::string (*show)(double) = PercentText) {
    Row(name, first, second, show, PointsText(second - first));
  }
  void AddAccuracy(double first, double second, const Interval& interval) {
    Row("top1", first, second, PercentText, PointsText(second - first),
        Cell::Number(interval.low, PointsText(interval.low)), Cell::Number(interval.high, PointsText(interval.high)));
  }
  // Adds a row for a score, unless `first`, `second` or `paired` is missing.
  void AddScore(const std::string& name, const std::optional<MeanScore>& first, const std::optional<MeanScore>& second,
                const std::optional<MeanScore>& paired) {
    if (!first.has_value() || !second.has_value() || !paired.has_value()) return;
    const auto end = [&](double Interval::*side) {
      if (!paired->interval.has_value()) return Cell::Nothing();
      return Cell::Number((*paired->interval).*side, absl::StrFormat("%+.4f", (*paired->interval).*side));
    };
    const auto show = [](double value) { return absl::StrFormat("%.4f", value); };
    Row(name, first->mean, second->mean, show, absl::StrFormat("%+.4f", second->mean - first->mean),
        end(&Interval::low), end(&Interval::high));
  }
  DataTable& table() { return table_; }

 private:
  template <typename Show>
  void Row(const std::string& name, double first, double second, Show show, const std::string& difference,
           Cell low = Cell::Nothing(), Cell high = Cell::Nothing()) {
    table_.Add({Cell::Text(name), Cell::Number(first, show(first)), Cell::Number(second, show(second)),
                Cell::Number(second - first, difference), std::move(low), std::move(high)});
  }

  DataTable table_{{{"measure", "MEASURE"},
                    {"first", "FIRST", true},
                    {"second", "SECOND", true},
                    {"difference", "DIFFERENCE", true},
                    {"low", "95 % FROM", true},
                    {"high", "TO", true}}};
};

Json AsJson(const Interval& interval) {
  return Json::array({interval.low, interval.high});
}

Json TestAsJson(const Comparison& comparison) {
  const McNemar& test = comparison.test;
  Json json = {{"test", test.exact ? "exact binomial" : "chi-squared with continuity correction"},
               {"statistic", test.exact ? Json() : Json(test.statistic)},
               {"p", test.p}};
  if (comparison.comparisons > 1) {
    json["p_holm"] = comparison.holm;
    json["comparisons"] = comparison.comparisons;
  }
  return json;
}

// Returns the comparison as a gate in the form of GatesJson. Its `measured` is an object with several values.
Json NotWorseAsJson(const Comparison& comparison) {
  const bool corrected = comparison.comparisons > 1;
  Json measured = {{"difference", PairedDifference(comparison.counts)}, {"p", comparison.test.p}};
  if (corrected) measured["p_holm"] = comparison.holm;
  return {{"name", "not_worse"},
          {"model", RunTitle(comparison.second)},
          {"required", absl::StrCat(corrected ? "p_holm" : "p", ">=0.05 or difference>=0")},
          {"measured", measured},
          {"passed", !IsWorse(comparison)}};
}

Json AsJson(const PairedCounts& counts) {
  return {{"both_right", counts.both},
          {"only_first_right", counts.only_first},
          {"only_second_right", counts.only_second},
          {"neither_right", counts.neither}};
}

Json RunAsJson(const Evaluation& evaluation, const EvaluationMetrics& metrics) {
  const Interval interval = WilsonInterval(metrics.top1_correct, metrics.ledger.answered);
  return {{"model", evaluation.model.model()},
          {"version", evaluation.model.version()},
          {"weights_sha256", evaluation.model.weights_sha256()},
          {"data", evaluation.data},
          {"resolution", evaluation.settings.resolution},
          {"precision", PrecisionsOf(evaluation)},
          {"top1", metrics.top1},
          {"top1_interval", AsJson(interval)}};
}

Json AnswerAsJson(const Evaluation& evaluation, const Prediction& prediction) {
  const Guess& best = prediction.guesses.front();
  return {{"label", LabelOf(evaluation.model, best.index)}, {"probability", best.probability}};
}

Json FlipsAsJson(const Comparison& comparison, const std::vector<PredictionPair>& flips) {
  Json json = Json::array();
  for (const PredictionPair& pair : flips) {
    json.push_back({{"name", pair.first->name},
                    {"label", LabelOf(comparison.first.model, pair.first->label)},
                    {"first", AnswerAsJson(comparison.first, *pair.first)},
                    {"second", AnswerAsJson(comparison.second, *pair.second)}});
  }
  return json;
}

Json ComparisonAsJson(const Comparison& comparison) {
  Json json;
  json["first"] = RunAsJson(comparison.first, comparison.first_metrics);
  json["second"] = RunAsJson(comparison.second, comparison.second_metrics);
  json["pictures"] = {{"compared", comparison.pairs.size()},
                      {"unanswered", comparison.unanswered},
                      {"only_in_first", comparison.only_in_first},
                      {"only_in_second", comparison.only_in_second}};
  json["counts"] = AsJson(comparison.counts);
  json["difference"] = PairedDifference(comparison.counts);
  json["difference_interval"] = AsJson(comparison.interval);
  json["mcnemar"] = TestAsJson(comparison);
  json["measures"] = MeasuresOf(comparison).AsJson();
  json["classes"] = ClassesOf(comparison).AsJson();
  json["right_to_wrong"] = FlipsAsJson(comparison, comparison.right_to_wrong);
  json["wrong_to_right"] = FlipsAsJson(comparison, comparison.wrong_to_right);
  return json;
}

std::string Dumped(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

constexpr char kMatchedByName[] = "images are matched by name and label only, not by content.";

bool IsOfOneData(const Comparison& comparison) {
  return comparison.first.data == comparison.second.data;
}

// Returns a warning for each comparison whose evaluations have data sets of different names.
std::string OtherDataInWords(const Comparisons& comparisons) {
  std::string lines;
  for (const std::unique_ptr<Comparison>& of : comparisons) {
    if (IsOfOneData(*of)) continue;
    absl::StrAppend(&lines, Printable(RunTitle(of->second)), " is on ", Printable(of->second.data), ": ",
                    kMatchedByName, "\n");
  }
  return lines;
}

std::string RunInWords(const char* which, const Evaluation& evaluation) {
  return absl::StrCat(which, Printable(RunTitle(evaluation)), " on ", Printable(evaluation.data), "\n");
}

}  // namespace

std::string VerdictInWords(const Comparison& comparison) {
  const McNemar& test = comparison.test;
  const double difference = PairedDifference(comparison.counts);
  std::string verdict = !IsSignificant(comparison) ? "No significant difference in accuracy"
                        : difference > 0           ? "The second is right more often"
                                                   : "The first is right more often";
  absl::StrAppend(&verdict, ": ", WithSeparators(comparison.counts.only_first), " images are right only in the first, ",
                  WithSeparators(comparison.counts.only_second), " only in the second; p = ", PText(test.p));
  absl::StrAppend(&verdict, test.exact ? " (McNemar, exact)"
                                       : absl::StrFormat(" (McNemar, chi-squared %.2f with continuity correction)",
                                                         test.statistic));
  if (comparison.comparisons > 1) {
    absl::StrAppend(&verdict, "; corrected for ", comparison.comparisons,
                    " comparisons by Holm's method: p = ", PText(comparison.holm));
  }
  return verdict + ".";
}

std::string ImagesInWords(const Comparison& comparison) {
  std::string text =
      absl::StrCat(WithSeparators(static_cast<int64_t>(comparison.pairs.size())), " images were answered by both");
  if (comparison.unanswered > 0) {
    absl::StrAppend(&text, "; ", WithSeparators(comparison.unanswered), " are in both but were not answered by both");
  }
  if (comparison.only_in_first > 0) {
    absl::StrAppend(&text, "; ", WithSeparators(comparison.only_in_first), " are only in the first");
  }
  if (comparison.only_in_second > 0) {
    absl::StrAppend(&text, "; ", WithSeparators(comparison.only_in_second), " are only in the second");
  }
  return absl::StrCat(text, ". The results below use only images that both answered.",
                      IsOfOneData(comparison) ? "" : absl::StrCat(" They name different data: ", kMatchedByName));
}

std::string WorseInWords(const Comparison& comparison) {
  return absl::StrFormat(
      "%s is worse than %s: right on %s instead of %s of %s images (%+.2f points, 95 %% interval %+.2f to %+.2f), p "
      "= %s%s; --fail-if-worse allows no significant loss at 0.05",
      RunTitle(comparison.second), RunTitle(comparison.first), PercentText(comparison.second_metrics.top1),
      PercentText(comparison.first_metrics.top1), WithSeparators(comparison.counts.all()),
      100 * PairedDifference(comparison.counts), 100 * comparison.interval.low, 100 * comparison.interval.high,
      PText(comparison.holm),
      comparison.comparisons > 1 ? absl::StrFormat(" corrected for %d comparisons (Holm)", comparison.comparisons)
                                 : "");
}

DataTable MeasuresOf(const Comparison& comparison) {
  const EvaluationMetrics &first = comparison.first_metrics, &second = comparison.second_metrics;
  const auto rate = [](double value) { return absl::StrFormat("%.4g", value); };
  Measures measures;
  measures.AddAccuracy(first.top1, second.top1, comparison.interval);
  if (HasTop5(first) && HasTop5(second)) measures.AddShare("top5", first.top5, second.top5);
  measures.AddShare("macro_f1", first.macro_f1, second.macro_f1);
  measures.AddScore("nll", first.nll, second.nll, comparison.nll);
  measures.AddScore("brier", first.brier, second.brier, comparison.brier);
  measures.AddShare("calibration_error", first.calibration.ExpectedError(), second.calibration.ExpectedError());
  measures.AddShare("overconfidence", first.calibration.Overconfidence(), second.calibration.Overconfidence(),
                    PointsText);
  for (const char* stage : {"compute", "server", "client"}) {
    const auto a = first.latency.find(stage), b = second.latency.find(stage);
    if (a == first.latency.end() || b == second.latency.end()) continue;
    measures.Add(absl::StrCat(stage, "_p50"), a->second.p50, b->second.p50, DurationText);
    measures.Add(absl::StrCat(stage, "_p99"), a->second.p99, b->second.p99, DurationText);
  }
  measures.Add("pictures_per_second", first.images_per_second, second.images_per_second, rate);
  return measures.table();
}

DataTable ClassesOf(const Comparison& comparison) {
  DataTable table({{"class", "CLASS"},
                   {"pictures", "IMAGES", true},
                   {"first_recall", "FIRST", true},
                   {"second_recall", "SECOND", true},
                   {"difference", "DIFFERENCE", true},
                   {"only_first_right", "ONLY FIRST", true},
                   {"only_second_right", "ONLY SECOND", true},
                   {"p", "P", true},
                   {"p_holm", "P, HOLM", true}});
  for (const ClassComparison& of : comparison.classes) {
    table.Add({Cell::Text(of.label), Cell::Count(of.counts.all()), Cell::Number(of.first, PercentText(of.first)),
               Cell::Number(of.second, PercentText(of.second)),
               Cell::Number(of.second - of.first, PointsText(of.second - of.first)), Cell::Count(of.counts.only_first),
               Cell::Count(of.counts.only_second), Cell::Number(of.test.p, PText(of.test.p)),
               Cell::Number(of.holm, PText(of.holm))});
  }
  return table;
}

DataTable SeveralOf(const Comparisons& comparisons) {
  DataTable table({{"second", "SECOND"},
                   {"pictures", "IMAGES", true},
                   {"top1_first", "TOP-1, FIRST", true},
                   {"top1_second", "SECOND", true},
                   {"difference", "DIFFERENCE", true},
                   {"low", "95 % FROM", true},
                   {"high", "TO", true},
                   {"p", "P", true},
                   {"p_holm", "P, HOLM", true},
                   {"shown", "SHOWN"}});
  for (const std::unique_ptr<Comparison>& of : comparisons) {
    const double first = of->first_metrics.top1, second = of->second_metrics.top1;
    const double difference = PairedDifference(of->counts);
    table.Add({Cell::Text(RunTitle(of->second)), Cell::Count(of->counts.all()), Cell::Number(first, PercentText(first)),
               Cell::Number(second, PercentText(second)), Cell::Number(difference, PointsText(difference)),
               Cell::Number(of->interval.low, PointsText(of->interval.low)),
               Cell::Number(of->interval.high, PointsText(of->interval.high)),
               Cell::Number(of->test.p, PText(of->test.p)), Cell::Number(of->holm, PText(of->holm)),
               Cell::Text(!IsSignificant(*of) ? "no difference"
                          : difference > 0    ? "better"
                                              : "worse")});
  }
  return table;
}

std::string PrintComparison(const Comparison& comparison, OutputFormat format, bool fail_if_worse) {
  if (format == OutputFormat::kJson) {
    Json json = ComparisonAsJson(comparison);
    if (fail_if_worse) json["gates"] = Json::array({NotWorseAsJson(comparison)});
    return Dumped(json);
  }
  if (format == OutputFormat::kCsv) return MeasuresOf(comparison).Print(format);
  return absl::StrCat(RunInWords("first:  ", comparison.first), RunInWords("second: ", comparison.second),
                      ImagesInWords(comparison), "\n\n", MeasuresOf(comparison).Print(format), "\n",
                      VerdictInWords(comparison), "\n\n", ClassesOf(comparison).Print(format));
}

std::string PrintComparisons(const Comparisons& comparisons, OutputFormat format, bool fail_if_worse) {
  const Comparison& one = *comparisons.front();
  if (comparisons.size() == 1) return PrintComparison(one, format, fail_if_worse);
  if (format == OutputFormat::kCsv) return SeveralOf(comparisons).Print(format);
  if (format == OutputFormat::kTable) {
    return absl::StrCat(
        RunInWords("first:  ", one.first), "\n", SeveralOf(comparisons).Print(format), "\n",
        "Each is compared with the first, on the images that both answered. P is McNemar's; the column P, HOLM is "
        "corrected for ",
        comparisons.size(), " comparisons and shows a difference if it is below 0.05.\n",
        OtherDataInWords(comparisons));
  }
  Json json = {{"correction", "Holm"}, {"comparisons", Json::array()}};
  if (fail_if_worse) json["gates"] = Json::array();
  for (const std::unique_ptr<Comparison>& of : comparisons) {
    json["comparisons"].push_back(ComparisonAsJson(*of));
    if (fail_if_worse) json["gates"].push_back(NotWorseAsJson(*of));
  }
  return Dumped(json);
}

}  // namespace vitrine
