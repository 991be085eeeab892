// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "client/load/load_report.h"

namespace vitrine {
namespace {

using nlohmann::ordered_json;

ordered_json Percentiles(const LatencyHistogram& histogram) {
  ordered_json json = {{"count", histogram.count()}};
  if (histogram.count() == 0) return json;
  json["mean"] = histogram.Mean() / 1e6;
  for (const NamedQuantile& one : kReportedQuantiles) json[one.name] = Milliseconds(histogram.Quantile(one.quantile));
  json["max"] = Milliseconds(histogram.max());
  return json;
}

// Returns percentiles of all due requests. A percentile that falls on a request without an answer is null.
ordered_json PercentilesOfDue(const LoadRecord& record) {
  ordered_json json = {{"count", record.due()}};
  for (const NamedQuantile& one : kReportedQuantiles) {
    const std::optional<int64_t> value = record.QuantileOfDue(one.quantile);
    json[one.name] = value.has_value() ? ordered_json(Milliseconds(*value)) : nullptr;
  }
  return json;
}

ordered_json Errors(const LoadRecord& record) {
  ordered_json errors = ordered_json::array();
  for (const auto& [code, error] : record.errors()) {
    errors.push_back({{"code", GrpcCodeName(code)},
                      {"count", error.count},
                      {"first_message", error.first_message},
                      {"latency_ms", Percentiles(error.latency)}});
  }
  return errors;
}

ordered_json Classes(const LoadSetting& setting, const LoadRecord& record) {
  ordered_json classes = ordered_json::array();
  for (size_t i = 0; i < record.classes().size() && i < setting.classes.size(); ++i) {
    const LoadRecord::ClassCount& one = record.classes()[i];
    ordered_json failed = ordered_json::object();
    for (const auto& [code, count] : one.failed) failed[GrpcCodeName(code)] = count;
    classes.push_back({{"name", setting.classes[i]},
                       {"due", one.due},
                       {"answered", one.answered},
                       {"good", one.good},
                       {"failed", failed},
                       {"not_sent", one.not_sent},
                       {"unanswered", one.unanswered},
                       {"latency_ms", Percentiles(one.latency)}});
  }
  return classes;
}

ordered_json Inside(const LoadRecord& record) {
  ordered_json counts = ordered_json::object();
  for (const auto& [images, count] : record.batch_images()) counts[absl::StrFormat("%d", images)] = count;
  const LoadRecord::Stages& stages = record.stages();
  return {{"looked_at", record.looked_at()},
          {"without_predictions", record.without_predictions()},
          {"stages_ms",
           {{"queue", Percentiles(stages.queue)},
            {"decode", Percentiles(stages.decode)},
            {"compute", Percentiles(stages.compute)},
            {"encode", Percentiles(stages.encode)},
            {"total", Percentiles(stages.server)},
            {"outside", Percentiles(stages.outside)}}},
          {"batch_images", {{"mean", record.MeanBatchImages()}, {"answers", counts}}},
          {"served_by", record.served_by()}};
}

ordered_json Timeline(const LoadRecord& record) {
  ordered_json seconds = ordered_json::array();
  for (size_t i = 0; i < record.seconds().size(); ++i) {
    const LoadRecord::Second& one = record.seconds()[i];
    seconds.push_back({{"second", i},
                       {"due", one.due},
                       {"answered", one.answered},
                       {"good", one.good},
                       {"failed", one.failed},
                       {"not_sent", one.not_sent},
                       {"p50_ms", Milliseconds(one.latency.Quantile(0.5))},
                       {"p99_ms", Milliseconds(one.latency.Quantile(0.99))},
                       {"max_ms", Milliseconds(one.latency.max())},
                       {"slip_p99_ms", Milliseconds(one.slip.Quantile(0.99))}});
  }
  return seconds;
}

ordered_json StabilityJson(const Stability& stability) {
  if (stability.verdict == Stability::Verdict::kUnknown) return nullptr;
  return stability.verdict == Stability::Verdict::kStable;
}

}  // namespace

const std::vector<NamedQuantile> kReportedQuantiles = {{"p50", 0.5},  {"p90", 0.9},     {"p95", 0.95},
                                                       {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};

std::string ModeName(LoadMode mode) {
  return mode == LoadMode::kStream ? "stream" : "unary";
}

std::string GrpcCodeName(int code) {
  if (code == kWithoutPredictions) return "WITHOUT_PREDICTIONS";
  if (code == kUnreadable) return "UNREADABLE";
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

ordered_json PointJson(const LoadSetting& setting, const LoadPoint& point) {
  const LoadResult& result = point.result;
  const LoadRecord& record = result.record;
  ordered_json json;
  if (point.offered > 0) json["offered_per_second"] = point.offered;
  json["seconds"] = record.interval().Seconds();
  json["interrupted"] = result.interrupted;
  json["due"] = record.due();
  json["answered"] = record.answered();
  json["good"] = record.good();
  json["failed"] = record.failed();
  json["not_sent"] = record.not_sent();
  json["unanswered"] = record.unanswered();
  json["due_per_second"] = record.DuePerSecond();
  json["answered_per_second"] = record.AnsweredPerSecond();
  json["good_per_second"] = record.GoodPerSecond();
  json["latency_ms"] = Percentiles(record.latency());
  json["latency_of_due_ms"] = PercentilesOfDue(record);
  json["errors"] = Errors(record);
  json["failure_latency_ms"] = Percentiles(record.FailureLatency());
  json["stable"] = StabilityJson(point.stability);
  if (!point.stability.reason.empty()) json["stability"] = point.stability.reason;
  if (point.missed.has_value()) {
    json["goal_met"] = point.missed->empty();
    if (!point.missed->empty()) json["goal_missed"] = *point.missed;
  }
  json["generator"] = {{"valid", InvalidReason(point).empty()},
                       {"core_share", result.GeneratorShare()},
                       {"receiver_share", result.receiver_share},
                       {"cpu_us_per_request", result.GeneratorMicrosecondsARequest()},
                       {"requests_per_cpu_second", result.RequestsPerProcessorSecond()},
                       {"slip_ms", setting.closed ? ordered_json(nullptr) : Percentiles(record.slip())},
                       {"slip_of_latency", setting.closed ? ordered_json(nullptr) : ordered_json(result.SlipShare())}};
  if (const std::string reason = InvalidReason(point); !reason.empty()) json["generator"]["void"] = reason;
  if (setting.server_process > 0) json["server_core_share"] = result.ServerShare();
  json["server"] = Inside(record);
  json["classes"] = Classes(setting, record);
  json["timeline"] = Timeline(record);
  return json;
}

ordered_json ReportJson(const LoadReport& report) {
  const LoadSetting& setting = report.setting;
  ordered_json json = {{"server", setting.server},   {"started", setting.started},
                       {"loop", setting.loop},       {"mode", ModeName(setting.mode)},
                       {"load", setting.load},       {"connections", setting.connections},
                       {"threads", setting.threads}, {"warm_up_seconds", setting.warm_up_seconds}};
  if (!setting.goal.empty()) json["goal"] = setting.goal;
  json["complete"] = report.complete;
  if (!report.verdict.empty()) json["verdict"] = report.verdict;
  if (!setting.goal.empty()) json["best_per_second"] = report.best.has_value() ? ordered_json(*report.best) : nullptr;
  if (report.samples.has_value()) {
    const RateSamples& samples = *report.samples;
    const auto or_null = [](const std::optional<double>& value) { return value ? ordered_json(*value) : nullptr; };
    json["best_samples"] = {{"taken", samples.taken},
                            {"met", samples.met},
                            {"goodput", {samples.least_goodput, samples.most_goodput}},
                            {"p99_ms", {or_null(samples.least_p99_ms), or_null(samples.most_p99_ms)}}};
  }
  if (!report.gates.empty()) json["gates"] = GatesJson(report.gates);
  json["points"] = ordered_json::array();
  for (const LoadPoint& point : report.points) json["points"].push_back(PointJson(setting, point));
  return json;
}

}  // namespace vitrine
