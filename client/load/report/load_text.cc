// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/output/text.h"
#include "client/load/load_report.h"
#include "client/load/rate_search.h"
#include "common/charts/html/data_table.h"

namespace vitrine {
namespace {

constexpr double kAlmostAll = 0.99;

std::string QuantileInMilliseconds(const LatencyHistogram& histogram, double quantile) {
  if (histogram.count() == 0) return "-";
  return absl::StrFormat("%.2f", static_cast<double>(histogram.Quantile(quantile)) / 1e6);
}

// Returns a percentile of all due requests.
std::string MillisecondsOfDue(const LoadRecord& record, double quantile) {
  if (record.due() == 0) return "-";
  const std::optional<int64_t> value = record.QuantileOfDue(quantile);
  return value.has_value() ? absl::StrFormat("%.2f", static_cast<double>(*value) / 1e6) : "inf";
}

// Returns a line with `subject` in the first column and `text` in the second.
std::string Line(const std::string& subject, const std::string& text) {
  return absl::StrFormat("%-11s %s\n", subject, text);
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return absl::StrFormat("%.2f %%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

// Formats percentiles: "p50 1.20  p90 ...  max 9.10 ms".
std::string PercentilesInWords(const LatencyHistogram& histogram) {
  if (histogram.count() == 0) return "none";
  std::string text;
  for (const NamedQuantile& one : kReportedQuantiles) {
    absl::StrAppend(&text, one.name, " ", QuantileInMilliseconds(histogram, one.quantile), "  ");
  }
  return absl::StrCat(text, "max ", QuantileInMilliseconds(histogram, 1), " ms");
}

std::string LatencyText(const LoadRecord& record) {
  std::string text =
      Line("latency", record.answered() == 0 ? "no answers" : PercentilesInWords(record.latency()) + ", of answers");
  if (record.answered() == record.due()) return text;
  std::string of_due;
  for (const NamedQuantile& one : kReportedQuantiles) {
    absl::StrAppend(&of_due, one.name, " ", MillisecondsOfDue(record, one.quantile), "  ");
  }
  return absl::StrCat(text, Line("", of_due + "max inf ms, of all due: inf has no answer"));
}

std::string LedgerText(const LoadRecord& record) {
  std::string text = Line("due", absl::StrFormat("%10.1f/s  %d requests in %.1f s", record.DuePerSecond(), record.due(),
                                                 record.interval().Seconds()));
  absl::StrAppend(&text, Line("answered", absl::StrFormat("%10.1f/s  %s", record.AnsweredPerSecond(),
                                                          Percent(record.answered(), record.due()))));
  absl::StrAppend(&text, Line("goodput", absl::StrFormat("%10.1f/s  %s within their deadline", record.GoodPerSecond(),
                                                         Percent(record.good(), record.due()))));
  for (const auto& [code, error] : record.errors()) {
    absl::StrAppend(&text, Line("refused", absl::StrFormat("%d %s, p99 %s ms: %s", error.count, GrpcCodeName(code),
                                                           QuantileInMilliseconds(error.latency, 0.99),
                                                           Printable(error.first_message))));
  }
  if (record.not_sent() > 0) {
    absl::StrAppend(&text, Line("not sent", absl::StrCat(record.not_sent(),
                                                         ": too many requests were in flight "
                                                         "(--max-outstanding)")));
  }
  if (record.unanswered() > 0) {
    absl::StrAppend(&text, Line("unanswered", absl::StrCat(record.unanswered(), " when the run ended")));
  }
  return text;
}

std::string ServerText(const LoadRecord& record) {
  if (record.stages().server.count() == 0) return "";
  const LoadRecord::Stages& stages = record.stages();
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const LatencyHistogram& stage) {
    parts.push_back(
        absl::StrCat(name, " ", QuantileInMilliseconds(stage, 0.5), "/", QuantileInMilliseconds(stage, 0.99)));
  };
  add("queue", stages.queue);
  add("decode", stages.decode);
  add("compute", stages.compute);
  add("encode", stages.encode);
  add("outside", stages.outside);
  std::string text = Line("stages", absl::StrCat(absl::StrJoin(parts, "  "), " ms (p50/p99)"));
  absl::StrAppend(&text, Line("batches", absl::StrFormat("%.1f images on average", record.MeanBatchImages())));
  for (const auto& [name, count] : record.served_by()) {
    absl::StrAppend(&text,
                    Line("served by", absl::StrCat(Printable(name), " (", Percent(count, record.looked_at()), ")")));
  }
  return text;
}

// Describes the failures of a class: "3 RESOURCE_EXHAUSTED, 2 not sent".
std::string FailuresOf(const LoadRecord::ClassCount& one) {
  std::vector<std::string> parts;
  for (const auto& [code, count] : one.failed) parts.push_back(absl::StrCat(count, " ", GrpcCodeName(code)));
  if (one.not_sent > 0) parts.push_back(absl::StrCat(one.not_sent, " not sent"));
  if (one.unanswered > 0) parts.push_back(absl::StrCat(one.unanswered, " unanswered"));
  return absl::StrJoin(parts, ", ");
}

std::string ClassesText(const LoadSetting& setting, const LoadRecord& record) {
  if (setting.classes.size() < 2) return "";
  std::vector<std::vector<std::string>> rows = {{"class", "due", "good", "p50 ms", "p99 ms", "p99.9 ms", "failed"}};
  for (size_t i = 0; i < setting.classes.size(); ++i) {
    const LoadRecord::ClassCount& one = record.classes()[i];
    rows.push_back({Printable(setting.classes[i]), WithSeparators(static_cast<int64_t>(one.due)),
                    Percent(one.good, one.due), QuantileInMilliseconds(one.latency, 0.5),
                    QuantileInMilliseconds(one.latency, 0.99), QuantileInMilliseconds(one.latency, 0.999),
                    FailuresOf(one)});
  }
  return "\n" + Aligned(rows, {false, true, true, true, true, true, false}) +
         "Percentiles of a class are of answers.\n";
}

std::string StabilityText(const Stability& stability) {
  switch (stability.verdict) {
    case Stability::Verdict::kStable:
      return Line("stable", "yes");
    case Stability::Verdict::kNotStable:
      return Line("not stable", stability.reason);
    case Stability::Verdict::kUnknown:
      break;
  }
  return Line("stable", "not known: " + stability.reason);
}

std::string GeneratorText(const LoadSetting& setting, const LoadPoint& point) {
  const LoadResult& result = point.result;
  const std::string slip =
      setting.closed ? ""
                     : absl::StrFormat(", slip p99 %s ms, on average %s of the latency",
                                       QuantileInMilliseconds(result.record.slip(), 0.99), SlipShareText(result));
  std::string text =
      Line("generator",
           absl::StrFormat("%.1f %% of a core (receiving thread %.1f %% busy), %.1f us CPU per request (%s requests "
                           "per CPU second)%s",
                           100 * result.GeneratorShare(), 100 * result.receiver_share,
                           result.GeneratorMicrosecondsARequest(),
                           WithSeparators(static_cast<int64_t>(result.RequestsPerProcessorSecond())), slip));
  if (setting.server_process > 0) {
    absl::StrAppend(&text, Line("server", absl::StrFormat("%.1f %% of a core", 100 * result.ServerShare())));
  }
  if (const std::string reason = InvalidReason(point); !reason.empty()) {
    absl::StrAppend(&text, Line("VOID", reason + ": give it a core of its own, or more --threads and --connections"));
  }
  return text;
}

}  // namespace

std::string InvalidReason(const LoadPoint& point) {
  return point.missed == "" ? "" : point.result.VoidReason();
}

std::string Overload(const LoadSetting& setting, const LoadPoint& point) {
  const LoadRecord& record = point.result.record;
  const bool refused = static_cast<double>(record.answered()) < kAlmostAll * static_cast<double>(record.due());
  const std::string behind = setting.closed || refused ? "" : OverloadText(record, point.stability);
  return behind.empty() ? "" : behind + ", and latency with it for as long as the load lasts";
}

std::string SlipShareText(const LoadResult& result) {
  return absl::StrFormat("%.1f %%", 100 * result.SlipShare());
}

std::string PointVerdict(const LoadPoint& point) {
  std::vector<std::string> words;
  if (point.result.interrupted) words.push_back("interrupted");
  const std::string reason = InvalidReason(point);
  if (!reason.empty()) words.push_back("void: " + reason);
  if (point.missed.has_value() && reason.empty()) words.push_back(point.missed->empty() ? "met" : *point.missed);
  if (point.stability.verdict == Stability::Verdict::kNotStable) words.push_back("not stable");
  return absl::StrJoin(words, ", ");
}

std::string PointText(const LoadSetting& setting, const LoadPoint& point) {
  const LoadRecord& record = point.result.record;
  const std::string overload = Overload(setting, point);
  return absl::StrCat(point.result.interrupted ? "interrupted; results until then:\n" : "", LedgerText(record),
                      overload.empty() ? "" : Line("OVERLOAD", overload), LatencyText(record), ServerText(record),
                      StabilityText(point.stability), GeneratorText(setting, point), ClassesText(setting, record));
}

std::string PointsTable(const LoadReport& report) {
  std::vector<std::vector<std::string>> rows = {{"offered/s", "answered/s", "goodput/s", "good", "p50 ms", "p99 ms",
                                                 "p99.9 ms", "refused p99 ms", "slip p99 ms", "of latency", "generator",
                                                 ""}};
  for (const LoadPoint& point : report.points) {
    const LoadRecord& record = point.result.record;
    rows.push_back({absl::StrFormat("%.1f", point.offered), absl::StrFormat("%.1f", record.AnsweredPerSecond()),
                    absl::StrFormat("%.1f", record.GoodPerSecond()), Percent(record.good(), record.due()),
                    MillisecondsOfDue(record, 0.5), MillisecondsOfDue(record, 0.99), MillisecondsOfDue(record, 0.999),
                    QuantileInMilliseconds(record.FailureLatency(), 0.99), QuantileInMilliseconds(record.slip(), 0.99),
                    SlipShareText(point.result), absl::StrFormat("%.0f %%", 100 * point.result.GeneratorShare()),
                    PointVerdict(point)});
  }
  std::vector<bool> right(rows.front().size(), true);
  right.back() = false;
  return Aligned(rows, right) +
         "Percentiles are of all requests due; inf: too many have no answer.\n"
         "Slip is how late the generator itself started requests; \"of latency\" is its share of the latency, on "
         "average.\n";
}

std::string TimelineCsv(const LoadPoint& point) {
  std::string csv = "second,due,answered,good,failed,not_sent,p50_ms,p99_ms,max_ms,slip_p99_ms\n";
  const std::vector<LoadRecord::Second>& seconds = point.result.record.seconds();
  for (size_t i = 0; i < seconds.size(); ++i) {
    const LoadRecord::Second& one = seconds[i];
    const auto ms = [](int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; };
    absl::StrAppendFormat(&csv, "%d,%d,%d,%d,%d,%d,%.3f,%.3f,%.3f,%.3f\n", i, one.due, one.answered, one.good,
                          one.failed, one.not_sent, ms(one.latency.Quantile(0.5)), ms(one.latency.Quantile(0.99)),
                          ms(one.latency.max()), ms(one.slip.Quantile(0.99)));
  }
  return csv;
}

}  // namespace vitrine
