// SPDX-License-Identifier: Apache-2.0
#include "client/eval/summary.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/output/text.h"
#include "client/eval/page/page_sections.h"
#include "common/charts/html/data_table.h"
#include "common/statistics/proportion.h"

namespace vitrine {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostWorstClasses = 5;

double Rounded(double value) {
  return std::round(value * 1e5) / 1e5;
}

Json IntervalJson(const Interval& interval) {
  return {Rounded(interval.low), Rounded(interval.high)};
}

// Adds `<name>` and `<name>_interval`, null if missing.
void AddMeanScore(const std::string& name, const std::optional<MeanScore>& score, Json& json) {
  json[name] = score.has_value() ? Json(Rounded(score->mean)) : nullptr;
  json[name + "_interval"] = score.has_value() && score->interval ? IntervalJson(*score->interval) : Json();
}

Json ScoresJson(const EvaluationMetrics& metrics) {
  const int64_t answered = metrics.ledger.answered;
  Json json = {{"top1", Rounded(metrics.top1)},
               {"top1_correct", metrics.top1_correct},
               {"top1_interval", IntervalJson(WilsonInterval(metrics.top1_correct, answered))},
               {"top5", Rounded(metrics.top5)},
               {"top5_correct", metrics.top5_correct},
               {"top5_interval", IntervalJson(WilsonInterval(metrics.top5_correct, answered))},
               {"macro_precision", Rounded(metrics.macro_precision)},
               {"macro_recall", Rounded(metrics.macro_recall)},
               {"macro_f1", Rounded(metrics.macro_f1)}};
  AddMeanScore("nll", metrics.nll, json);
  AddMeanScore("brier", metrics.brier, json);
  return json;
}

Json ModelJson(const v1::ModelVersion& model) {
  Json json = {{"model", model.model()},
               {"version", model.version()},
               {"weights_sha256", model.weights_sha256()},
               {"parameters", model.parameters()}};
  for (const auto& [name, message] : {std::pair<const char*, const google::protobuf::Message*>{
                                          "config", model.has_config() ? &model.config() : nullptr},
                                      {"provenance", model.has_provenance() ? &model.provenance() : nullptr}}) {
    std::string text;
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    if (message != nullptr && google::protobuf::util::MessageToJsonString(*message, &text, options).ok()) {
      json[name] = Json::parse(text);
    }
  }
  return json;
}

Json DataJson(const Evaluation& evaluation) {
  const EvaluationSettings& s = evaluation.settings;
  return {{"data", evaluation.data},
          {"split", s.split},
          {"pictures", s.data_images},
          {"digest", s.data_digest},
          {"limit", s.limit > 0 ? Json(s.limit) : Json()},
          {"shard", ToString(s.shard)},
          {"resolution", s.resolution.empty() ? Json() : Json(s.resolution)}};
}

Json LedgerJson(const EvaluationLedger& ledger) {
  return {{"pictures", ledger.images},       {"answered", ledger.answered}, {"unreadable", ledger.unreadable},
          {"unlabelled", ledger.unlabelled}, {"refused", ledger.refused},   {"refused_by_code", ledger.refused_by_code},
          {"missing", ledger.missing}};
}

Json ClassesJson(const Evaluation& evaluation, const EvaluationMetrics& metrics) {
  Json classes = Json::array();
  for (size_t i = 0; i < metrics.classes.size(); ++i) {
    const ClassMetrics& c = metrics.classes[i];
    if (c.images == 0 && c.predictions == 0) continue;
    classes.push_back({{"index", i},
                       {"label", evaluation.model.labels(static_cast<int>(i))},
                       {"pictures", c.images},
                       {"predictions", c.predictions},
                       {"precision", Rounded(c.precision)},
                       {"recall", Rounded(c.recall)},
                       {"f1", Rounded(c.f1)}});
  }
  return classes;
}

Json CalibrationJson(const Calibration& calibration) {
  Json bins = Json::array();
  for (const Calibration::Bin& bin : calibration.bins()) {
    bins.push_back(
        {{"answers", bin.answers}, {"accuracy", Rounded(bin.accuracy())}, {"confidence", Rounded(bin.confidence())}});
  }
  return {{"expected_error", Rounded(calibration.ExpectedError())},
          {"overconfidence", Rounded(calibration.Overconfidence())},
          {"bins", bins}};
}

Json RunJson(const Evaluation& evaluation, const EvaluationMetrics& metrics) {
  Json latency = Json::object();
  for (const auto& [stage, p] : metrics.latency) {
    latency[stage] = {{"mean", p.mean}, {"p50", p.p50},   {"p90", p.p90}, {"p95", p.p95},
                      {"p99", p.p99},   {"p999", p.p999}, {"max", p.max}};
  }
  Json sessions = Json::array();
  for (const EvaluationSession& s : evaluation.sessions) {
    sessions.push_back({{"start", s.start}, {"end", s.end}, {"server", s.server}, {"pictures", s.images}});
  }
  return {{"busy_seconds", metrics.busy_seconds}, {"pictures_per_second", metrics.images_per_second},
          {"retries", metrics.ledger.retries},    {"served_by", metrics.served_by},
          {"latency_seconds", latency},           {"sessions", sessions}};
}

std::string LedgerText(const EvaluationLedger& ledger) {
  std::string text =
      absl::StrCat("images    ", WithSeparators(ledger.images), " = ", WithSeparators(ledger.answered), " answered");
  const auto add = [&](int64_t count, const std::string& what) {
    if (count > 0) absl::StrAppend(&text, " + ", WithSeparators(count), " ", what);
  };
  for (const auto& [code, count] : ledger.refused_by_code) add(count, absl::StrCat("refused with ", code));
  add(ledger.unreadable, "unreadable");
  add(ledger.unlabelled, "with a label unknown to the model");
  add(ledger.missing, "not evaluated");
  return absl::StrCat(text, "\n");
}

std::string WorstClasses(const Evaluation& evaluation, const EvaluationMetrics& metrics) {
  std::vector<size_t> order;
  for (size_t i = 0; i < metrics.classes.size(); ++i) {
    if (metrics.classes[i].images > 0) order.push_back(i);
  }
  if (order.size() < 2) return "";
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return metrics.classes[a].f1 < metrics.classes[b].f1; });
  order.resize(std::min(order.size(), kMostWorstClasses));
  std::vector<std::string> words;
  for (const size_t i : order) {
    words.push_back(absl::StrCat(Printable(evaluation.model.labels(static_cast<int>(i))), " ",
                                 absl::StrFormat("%.3f", metrics.classes[i].f1)));
  }
  return absl::StrCat("lowest F1   ", absl::StrJoin(words, ", "), "\n");
}

// Formats a share and its interval: "78.90 % (78.09 to 79.69)".
std::string AccuracyText(double share, int64_t right, int64_t all) {
  const Interval interval = WilsonInterval(right, all);
  return absl::StrFormat("%s (%.2f to %.2f)", PercentText(share), 100 * interval.low, 100 * interval.high);
}

std::string ScoresText(const EvaluationMetrics& metrics) {
  const int64_t answered = metrics.ledger.answered;
  const std::string top5 =
      HasTop5(metrics) ? absl::StrCat("   top-5 ", AccuracyText(metrics.top5, metrics.top5_correct, answered)) : "";
  std::string text =
      absl::StrCat("top-1       ", AccuracyText(metrics.top1, metrics.top1_correct, answered), top5,
                   "   in brackets 95 % intervals\n", "macro F1    ", absl::StrFormat("%.4f", metrics.macro_f1),
                   "   calibration error ", PercentText(metrics.calibration.ExpectedError()));
  if (metrics.nll.has_value()) absl::StrAppend(&text, "   NLL ", MeanScoreText(*metrics.nll));
  if (metrics.brier.has_value()) absl::StrAppend(&text, "   Brier ", MeanScoreText(*metrics.brier));
  return absl::StrCat(text, "\n");
}

std::string LatencyText(const EvaluationMetrics& metrics) {
  const auto milliseconds = [](double seconds) { return absl::StrFormat("%.2f", 1000 * seconds); };
  std::vector<std::vector<std::string>> rows = {{"latency, ms", "mean", "p50", "p90", "p99", "p99.9", "max"}};
  for (const char* stage : {"queue", "decode", "compute", "encode", "server", "client"}) {
    const auto found = metrics.latency.find(stage);
    if (found == metrics.latency.end()) continue;
    const Percentiles& p = found->second;
    rows.push_back({absl::StrCat("  ", stage), milliseconds(p.mean), milliseconds(p.p50), milliseconds(p.p90),
                    milliseconds(p.p99), milliseconds(p.p999), milliseconds(p.max)});
  }
  if (rows.size() == 1) return "";
  return Aligned(rows, {false, true, true, true, true, true, true});
}

}  // namespace

Json SummaryJson(const Evaluation& evaluation, const EvaluationMetrics& metrics) {
  return {{"format", 1},
          {"model", ModelJson(evaluation.model)},
          {"data", DataJson(evaluation)},
          {"ledger", LedgerJson(metrics.ledger)},
          {"scores", ScoresJson(metrics)},
          {"calibration", CalibrationJson(metrics.calibration)},
          {"classes", ClassesJson(evaluation, metrics)},
          {"run", RunJson(evaluation, metrics)}};
}

std::string SummaryText(const Evaluation& evaluation, const EvaluationMetrics& metrics, const std::string& folder) {
  const EvaluationSettings& s = evaluation.settings;
  std::string text = absl::StrCat("model       ", Printable(evaluation.model.model()), "@", evaluation.model.version(),
                                  "  weights ", evaluation.model.weights_sha256().substr(0, 12));
  for (const auto& [where, count] : metrics.served_by) absl::StrAppend(&text, "  ", Printable(where));
  absl::StrAppend(&text, "\ndata        ", Printable(evaluation.data), "  ", s.split, " split");
  if (s.limit > 0) absl::StrAppend(&text, "  ", WithSeparators(WithinLimit(s)), " images of it");
  if (s.shard.of > 1) absl::StrAppend(&text, "  shard ", ToString(s.shard));
  if (!s.resolution.empty()) absl::StrAppend(&text, "  at ", s.resolution);
  absl::StrAppend(&text, "\n", LedgerText(metrics.ledger));
  if (metrics.ledger.answered > 0) {
    absl::StrAppend(&text, ScoresText(metrics), WorstClasses(evaluation, metrics), LatencyText(metrics));
    absl::StrAppendFormat(&text, "throughput  %.1f images/s over %.1f s", metrics.images_per_second,
                          metrics.busy_seconds);
    if (evaluation.sessions.size() > 1) absl::StrAppend(&text, " in ", evaluation.sessions.size(), " sessions");
    if (metrics.ledger.retries > 0) absl::StrAppend(&text, ", ", metrics.ledger.retries, " sent again");
    absl::StrAppend(&text, "\n");
  }
  return absl::StrCat(text, "files       ", Printable((std::filesystem::path(folder) / "").string()),
                      "{report.html,summary.json,predictions.csv,predictions.jsonl}\n");
}

std::vector<std::string> WhatIsMissing(const Evaluation& evaluation, const EvaluationMetrics& metrics) {
  constexpr int kMostNamed = 3;
  struct Kind {
    int64_t images = 0;
    std::vector<std::string> named = {};
  };
  std::map<std::string, Kind> kinds;
  for (const Prediction& p : evaluation.predictions) {
    if (p.outcome == Outcome::kAnswered) continue;
    Kind& kind = kinds[OutcomeName(p.outcome) + (p.outcome == Outcome::kRefused ? " with " + CodeName(p.code) : "")];
    if (++kind.images <= kMostNamed) {
      kind.named.push_back(absl::StrCat("  ", Printable(p.name), ": ", Printable(p.reason)));
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [name, kind] : kinds) {
    const int64_t more = kind.images - static_cast<int64_t>(kind.named.size());
    sentences.push_back(absl::StrCat(WithSeparators(kind.images), kind.images == 1 ? " image was " : " images were ",
                                     name, ":\n", absl::StrJoin(kind.named, "\n"),
                                     more > 0 ? absl::StrCat("\n  and ", WithSeparators(more), " more") : ""));
  }
  if (metrics.ledger.missing > 0) {
    sentences.push_back(absl::StrCat(WithSeparators(metrics.ledger.missing), " of ",
                                     WithSeparators(metrics.ledger.images), " images were not evaluated"));
  }
  return sentences;
}

}  // namespace vitrine
