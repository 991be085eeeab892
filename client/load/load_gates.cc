// SPDX-License-Identifier: Apache-2.0
#include "client/load/load_gates.h"

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr GateMeasure kLoadMeasures[] = {
    {"p50", GateUnit::kDuration},  {"p90", GateUnit::kDuration},   {"p95", GateUnit::kDuration},
    {"p99", GateUnit::kDuration},  {"p99.9", GateUnit::kDuration}, {"p99.99", GateUnit::kDuration},
    {"p999", GateUnit::kDuration}, {"rate", GateUnit::kRate},      {"goodput", GateUnit::kRate},
    {"good", GateUnit::kShare},    {"errors", GateUnit::kShare},   {"refused", GateUnit::kShare}};

double ShareOfDue(uint64_t part, const LoadRecord& record) {
  return static_cast<double>(part) / static_cast<double>(record.due());
}

// Returns the value of a measure. nullopt: the percentile falls on a request without an answer. Requires a due request.
std::optional<double> Measured(const std::string& measure, const LoadRecord& record) {
  if (measure == "rate") return record.AnsweredPerSecond();
  if (measure == "goodput") return record.GoodPerSecond();
  if (measure == "good") return ShareOfDue(record.good(), record);
  if (measure == "errors") return ShareOfDue(record.due() - record.answered(), record);
  if (measure == "refused") return ShareOfDue(record.failed(), record);
  for (const NamedQuantile& one : kReportedQuantiles) {
    if (measure != one.name && !(measure == "p999" && one.quantile == 0.999)) continue;
    const std::optional<int64_t> reached = record.QuantileOfDue(one.quantile);
    return reached ? std::optional(static_cast<double>(*reached) / 1e9) : std::nullopt;
  }
  return std::nullopt;
}

// Returns the judged point; null if a search found no rate that meets its goal.
const LoadPoint* JudgedPoint(const LoadReport& report) {
  if (report.setting.goal.empty()) return report.points.empty() ? nullptr : &report.points.front();
  for (const LoadPoint& point : report.points) {
    if (report.best.has_value() && point.offered == *report.best && point.missed == "") return &point;
  }
  return nullptr;
}

}  // namespace

std::span<const GateMeasure> LoadGateMeasures() {
  return kLoadMeasures;
}

std::vector<GateResult> JudgeLoad(std::span<const Gate> gates, const LoadReport& report) {
  std::vector<GateResult> results;
  const LoadPoint* point = JudgedPoint(report);
  for (const Gate& gate : gates) {
    GateResult& result = results.emplace_back(GateResult{.gate = gate});
    if (point == nullptr || point->result.record.due() == 0) {
      result.remark = point == nullptr ? "no rate met the goal of the search" : "no request was due";
      continue;
    }
    // For a search, `rate` is the offered rate. In a measurement of a few seconds, the rate of answers differs from the
    // offered rate by chance.
    const bool is_answer = gate.measure == "rate" && report.best.has_value();
    result.measured = is_answer ? report.best : Measured(gate.measure, point->result.record);
    if (!result.measured.has_value()) result.remark = "too many requests have no answer";
    const std::string reason = InvalidReason(*point);
    if (!reason.empty() && !result.passed()) {
      absl::StrAppend(&result.remark, result.remark.empty() ? "" : "; ", "void: ", reason);
    }
  }
  return results;
}

}  // namespace vitrine
