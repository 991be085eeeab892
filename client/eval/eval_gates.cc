// SPDX-License-Identifier: Apache-2.0
#include "client/eval/eval_gates.h"

#include "absl/strings/str_cat.h"
#include "client/eval/likelihood.h"
#include "common/charts/html/data_table.h"

namespace vitrine {
namespace {

// Reads a score; nullopt if the evaluation does not have it.
using ReadScore = std::optional<double> (*)(const EvaluationMetrics& metrics);

std::optional<double> MeanIn(const std::optional<MeanScore>& score) {
  return score.has_value() ? std::optional(score->mean) : std::nullopt;
}

constexpr GateMeasure kEvalMeasures[] = {
    {"top1", GateUnit::kShare},         {"top5", GateUnit::kShare},     {"macro_precision", GateUnit::kShare},
    {"macro_recall", GateUnit::kShare}, {"macro_f1", GateUnit::kShare}, {"ece", GateUnit::kShare},
    {"nll", GateUnit::kNumber},         {"brier", GateUnit::kNumber}};

// The functions that read the scores, in the order of kEvalMeasures.
constexpr ReadScore kReadScores[] = {
    [](const EvaluationMetrics& m) { return std::optional(m.top1); },
    [](const EvaluationMetrics& m) { return std::optional(m.top5); },
    [](const EvaluationMetrics& m) { return std::optional(m.macro_precision); },
    [](const EvaluationMetrics& m) { return std::optional(m.macro_recall); },
    [](const EvaluationMetrics& m) { return std::optional(m.macro_f1); },
    [](const EvaluationMetrics& m) { return std::optional(m.calibration.ExpectedError()); },
    [](const EvaluationMetrics& m) { return MeanIn(m.nll); },
    [](const EvaluationMetrics& m) { return MeanIn(m.brier); }};

constexpr int kTop = 5;

}  // namespace

std::span<const GateMeasure> EvalGateMeasures() {
  return kEvalMeasures;
}

absl::Status CheckEvalGates(std::span<const Gate> gates, const v1::ModelVersion& model, int top_k) {
  const int classes = model.labels_size();
  for (const Gate& gate : gates) {
    if (gate.measure == "top5" && classes <= kTop) {
      return absl::FailedPreconditionError(
          absl::StrCat("the gate top5", gate.demand, " has no meaning: ", model.model(), " has ", classes,
                       " classes, so every label is among the best ", kTop, "; give a gate on top1"));
    }
    const bool needs_all = gate.measure == "nll" || gate.measure == "brier";
    if (needs_all && classes > kMostClassesRequested && top_k < classes) {
      return absl::FailedPreconditionError(absl::StrCat(
          "this run has no ", gate.measure, " for the gate ", gate.measure, gate.demand, ": it needs the probability ",
          "of every class; with more than ", WithSeparators(kMostClassesRequested), " classes (", model.model(),
          " has ", WithSeparators(classes), ") give --top-k ", classes, " as well"));
    }
  }
  return absl::OkStatus();
}

std::vector<GateResult> JudgeEvaluation(std::span<const Gate> gates, const EvaluationMetrics& metrics) {
  std::vector<GateResult> results;
  for (const Gate& gate : gates) {
    GateResult& result = results.emplace_back(GateResult{.gate = gate});
    if (metrics.ledger.answered == 0) {
      result.remark = "no image was answered";
      continue;
    }
    for (size_t i = 0; i < std::size(kEvalMeasures); ++i) {
      if (gate.measure == kEvalMeasures[i].name) result.measured = kReadScores[i](metrics);
    }
    if (!result.measured.has_value()) {
      result.remark = "not every answer has the probabilities of all classes; --restart requests them";
    }
  }
  return results;
}

}  // namespace vitrine
