// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/output/text.h"
#include "client/load/load_report.h"
#include "common/charts/curves.h"
#include "common/charts/html/html.h"

namespace vitrine {
namespace {

using Points = std::vector<std::pair<double, double>>;

std::string Number(double value, const char* unit) {
  return absl::StrFormat("%.4g%s", value, unit);
}

std::string QuantileText(const LatencyHistogram& histogram, double quantile) {
  if (histogram.count() == 0) return "-";
  return absl::StrFormat("%.2f", Milliseconds(histogram.Quantile(quantile)));
}

// Returns a percentile of all due requests.
std::string CellOfDue(const LoadRecord& record, double quantile) {
  const std::optional<int64_t> value = record.QuantileOfDue(quantile);
  return value.has_value() ? absl::StrFormat("%.2f", Milliseconds(*value)) : "inf";
}

std::vector<const LoadPoint*> ByRate(const LoadReport& report) {
  std::vector<const LoadPoint*> points;
  for (const LoadPoint& point : report.points) points.push_back(&point);
  std::sort(points.begin(), points.end(), [](const auto* a, const auto* b) { return a->offered < b->offered; });
  return points;
}

// Plots the answered rate, and the latency, over the offered rate.
void AddSweep(const LoadReport& report, HtmlPage& page) {
  Points ideal, good, answered, invalid, p50, p99, p999, refused;
  for (const LoadPoint* point : ByRate(report)) {
    const LoadRecord& record = point->result.record;
    const double offered = point->offered;
    ideal.emplace_back(offered, offered);
    if (point->result.interrupted) continue;
    if (!InvalidReason(*point).empty()) {
      invalid.emplace_back(offered, record.GoodPerSecond());
      continue;
    }
    good.emplace_back(offered, record.GoodPerSecond());
    answered.emplace_back(offered, record.AnsweredPerSecond());
    const auto ms = [&](double quantile) {
      const std::optional<int64_t> value = record.QuantileOfDue(quantile);
      return value.has_value() ? Milliseconds(*value) : NAN;
    };
    p50.emplace_back(offered, ms(0.5));
    p99.emplace_back(offered, ms(0.99));
    p999.emplace_back(offered, ms(0.999));
    const LatencyHistogram failures = record.FailureLatency();
    refused.emplace_back(offered, failures.count() == 0 ? NAN : Milliseconds(failures.Quantile(0.99)));
  }
  page.Section("Offered load",
               "Percentiles are of all requests due. If too many have no answer, the chart has no point and the table "
               "inf. If the generator itself could not keep up, a point says nothing about the server: it is void, "
               "unless it meets the goal anyway.");
  page.Charts({DrawCurves({"Goodput",
                           "offered, requests/s",
                           "requests/s",
                           {{"offered", ideal, 5, true, false},
                            {"answered", answered, 1, false, true},
                            {"within the deadline", good, 0, false, true},
                            {invalid.empty() ? "" : "void", invalid, 5, true, true}}}),
               DrawCurves({"Latency from the scheduled start",
                           "offered, requests/s",
                           "ms",
                           {{"p50", p50, 0, false, true},
                            {"p99", p99, 1, false, true},
                            {"p99.9", p999, 2, false, true},
                            {"refusals, p99", refused, 3, false, true}},
                           true})});
  HtmlTable table;
  table.columns = {{"offered/s", true},   {"answered/s", true}, {"goodput/s", true}, {"p50 ms", true},
                   {"p99 ms", true},      {"p99.9 ms", true},   {"refused", true},   {"refused p99 ms", true},
                   {"slip p99 ms", true}, {"of latency", true}, {"generator", true}, {"", false}};
  for (const LoadPoint& point : report.points) {
    const LoadRecord& record = point.result.record;
    table.rows.push_back({Number(point.offered, ""), Number(record.AnsweredPerSecond(), ""),
                          Number(record.GoodPerSecond(), ""), CellOfDue(record, 0.5), CellOfDue(record, 0.99),
                          CellOfDue(record, 0.999), absl::StrCat(record.failed() + record.not_sent()),
                          QuantileText(record.FailureLatency(), 0.99), QuantileText(record.slip(), 0.99),
                          SlipShareText(point.result), absl::StrFormat("%.0f %%", 100 * point.result.GeneratorShare()),
                          PointVerdict(point)});
  }
  page.Table(table);
}

// Plots latency over the number of nines of the percentile: 1 is p90, 3 is p99.9.
std::string PercentileChart(const LatencyHistogram& histogram) {
  Points points;
  const double most = std::log10(std::max<double>(10, static_cast<double>(histogram.count())));
  for (double nines = 0; nines <= most; nines += 0.05) {
    points.emplace_back(nines, Milliseconds(histogram.Quantile(1 - std::pow(10, -nines))));
  }
  return DrawCurves({"Latency by percentile", "nines: 1 is p90, 2 is p99, 3 is p99.9", "ms", {{"", points}}, true});
}

std::vector<std::string> TimelineCharts(const LoadRecord& record) {
  Points due, answered, failed, p50, p99, slip;
  const auto whole = static_cast<size_t>(std::floor(record.interval().Seconds() + 1e-6));
  for (size_t i = 0; i < record.seconds().size() && i < std::max<size_t>(1, whole); ++i) {
    const LoadRecord::Second& one = record.seconds()[i];
    const auto at = static_cast<double>(i);
    due.emplace_back(at, static_cast<double>(one.due));
    answered.emplace_back(at, static_cast<double>(one.answered));
    failed.emplace_back(at, static_cast<double>(one.failed + one.not_sent));
    p50.emplace_back(at, Milliseconds(one.latency.Quantile(0.5)));
    p99.emplace_back(at, Milliseconds(one.latency.Quantile(0.99)));
    slip.emplace_back(at, Milliseconds(one.slip.Quantile(0.99)));
  }
  return {DrawCurves({"Requests second by second",
                      "s",
                      "requests/s",
                      {{"due", due, 5, true}, {"answered", answered, 0}, {"refused or not sent", failed, 1}}}),
          DrawCurves({"Latency second by second",
                      "s",
                      "ms",
                      {{"p50", p50, 0}, {"p99", p99, 1}, {"generator's slip, p99", slip, 5, true}},
                      true})};
}

void AddStages(const LoadRecord& record, HtmlPage& page) {
  const LoadRecord::Stages& stages = record.stages();
  if (stages.server.count() == 0) return;
  page.Section("Time by stage", absl::StrCat("As reported by the server in ", record.looked_at(),
                                             " answers; outside is the client's latency minus the server's total."));
  HtmlTable table;
  table.columns = {{"stage"}, {"p50 ms", true}, {"p90 ms", true}, {"p99 ms", true}, {"max ms", true}};
  const auto add = [&](const char* name, const LatencyHistogram& one) {
    table.rows.push_back(
        {name, QuantileText(one, 0.5), QuantileText(one, 0.9), QuantileText(one, 0.99), QuantileText(one, 1)});
  };
  add("queue", stages.queue);
  add("decode", stages.decode);
  add("compute", stages.compute);
  add("encode", stages.encode);
  add("server, in all", stages.server);
  add("outside", stages.outside);
  page.Table(table);
  HtmlTable batches;
  batches.columns = {{"images in the batch", true}, {"answers", true}};
  for (const auto& [images, count] : record.batch_images()) {
    batches.rows.push_back({absl::StrCat(images), absl::StrCat(count)});
  }
  page.Table(batches);
}

void AddErrors(const LoadRecord& record, HtmlPage& page) {
  if (record.errors().empty() && record.not_sent() == 0 && record.unanswered() == 0) return;
  page.Section("Refused");
  HtmlTable table;
  table.columns = {{"code"}, {"requests", true}, {"p50 ms", true}, {"p99 ms", true}, {"first message"}};
  for (const auto& [code, error] : record.errors()) {
    table.rows.push_back({GrpcCodeName(code), absl::StrCat(error.count), QuantileText(error.latency, 0.5),
                          QuantileText(error.latency, 0.99), Printable(error.first_message)});
  }
  const auto add = [&](const char* name, uint64_t count, const char* why) {
    if (count > 0) table.rows.push_back({name, absl::StrCat(count), "-", "-", why});
  };
  add("not sent", record.not_sent(), "too many requests were in flight");
  add("unanswered", record.unanswered(), "when the run ended");
  page.Table(table);
}

void AddPoint(const LoadPoint& point, HtmlPage& page) {
  const LoadRecord& record = point.result.record;
  page.Section("Latency", "Latency of answers, counted from when a request was due, even if it was sent later.");
  page.Charts({PercentileChart(record.latency())});
  page.Section("Second by second");
  page.Charts(TimelineCharts(record));
  AddStages(record, page);
  AddErrors(record, page);
}

void AddKeyFigures(const LoadReport& report, HtmlPage& page) {
  if (report.points.size() > 1) {
    double peak = 0;
    for (const LoadPoint& point : report.points) {
      if (InvalidReason(point).empty() && !point.result.interrupted)
        peak = std::max(peak, point.result.record.GoodPerSecond());
    }
    std::vector<KeyFigure> figures = {{"highest goodput", Number(peak, "/s"), "of all valid points"}};
    if (!report.setting.goal.empty()) {
      figures.push_back({"highest rate that meets the goal",
                         report.best.has_value() ? Number(*report.best, "/s") : "none", report.setting.goal});
    }
    page.KeyFigures(figures);
    return;
  }
  const LoadResult& result = report.points.front().result;
  const std::string reason = InvalidReason(report.points.front());
  page.KeyFigures({{"goodput", Number(result.record.GoodPerSecond(), "/s"),
                    absl::StrFormat("of %.4g/s due", result.record.DuePerSecond())},
                   {"p50", CellOfDue(result.record, 0.5) + " ms", "of all due"},
                   {"p99", CellOfDue(result.record, 0.99) + " ms", "of all due"},
                   {"p99.9", CellOfDue(result.record, 0.999) + " ms", "of all due"},
                   {"generator", Number(100 * result.GeneratorShare(), " %"),
                    absl::StrFormat("of a core; slip p99 %s ms, on average %s of the latency%s",
                                    QuantileText(result.record.slip(), 0.99), SlipShareText(result),
                                    reason.empty() ? "" : ": VOID, " + reason)}});
}

void AddGates(const LoadReport& report, HtmlPage& page) {
  if (report.gates.empty()) return;
  page.Section("Gates", "Requirements of the run (--require).");
  HtmlTable table{.columns = {{"required"}, {"measured", true}, {""}}};
  for (const GateResult& result : report.gates) {
    table.rows.push_back({absl::StrCat(result.gate.measure, " ", result.gate.demand), MeasuredText(result),
                          result.passed() ? "met" : "missed"});
  }
  page.Table(table);
}

}  // namespace

std::string LoadPage(const LoadReport& report) {
  const LoadSetting& setting = report.setting;
  HtmlPage page("Load on " + Printable(setting.server),
                absl::StrCat(setting.loop, "; ", Printable(setting.load), "; ", ModeName(setting.mode), " mode, ",
                             setting.connections, setting.connections == 1 ? " connection; " : " connections; ",
                             setting.started));
  if (report.points.empty()) return page.Print();
  AddKeyFigures(report, page);
  if (!report.verdict.empty()) page.Paragraph(report.verdict);
  AddGates(report, page);
  if (report.points.size() > 1) {
    AddSweep(report, page);
  } else {
    const Stability& stability = report.points.front().stability;
    if (report.points.front().result.interrupted) page.Paragraph("Interrupted: results until then.");
    const std::string overload = Overload(setting, report.points.front());
    if (!overload.empty()) page.Paragraph("Overload: " + overload + ".");
    if (!stability.reason.empty()) page.Paragraph("Stability: " + stability.reason + ".");
    AddPoint(report.points.front(), page);
  }
  page.Section("All numbers");
  page.Folded("As JSON", ReportJson(report).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  return page.Print();
}

}  // namespace vitrine
