// SPDX-License-Identifier: Apache-2.0
// Page sections about the run: times, attention distances, provenance, settings. Also text shared by the pages.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/eval/busy_time.h"
#include "client/eval/page/page_sections.h"
#include "common/charts/curves.h"
#include "common/charts/histogram.h"
#include "common/charts/html/data_table.h"
#include "common/drawing/input_words.h"
#include "common/drawing/licence_words.h"
#include "common/statistics/head_diversity.h"
#include "common/statistics/proportion.h"

namespace vitrine {
namespace {

constexpr int kRatePoints = 60;

std::string TimeOf(double unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixMicros(static_cast<int64_t>(unix_seconds * 1e6)),
                          absl::UTCTimeZone());
}

// Returns "-" for NaN.
std::string PixelsText(double pixels) {
  return std::isnan(pixels) ? "-" : absl::StrFormat("%.2f", pixels);
}

std::string DrawRate(const Evaluation& evaluation) {
  const BusyTime busy(evaluation.sessions);
  const double length = busy.Length();
  CurveFigure figure{.title = "Throughput", .x_axis = "seconds at work", .y_axis = "images / s"};
  if (length > 0) {
    std::vector<int64_t> counts(kRatePoints, 0);
    for (const Prediction& prediction : evaluation.predictions) {
      if (prediction.outcome != Outcome::kAnswered) continue;
      const double share = busy.At(prediction.at) / length;
      ++counts[static_cast<size_t>(std::clamp(share * kRatePoints, 0.0, kRatePoints - 1.0))];
    }
    Curve curve;
    for (size_t i = 0; i < counts.size(); ++i) {
      const double middle = length * (static_cast<double>(i) + 0.5) / kRatePoints;
      curve.points.emplace_back(middle, static_cast<double>(counts[i]) * kRatePoints / length);
    }
    figure.curves.push_back(curve);
  }
  return DrawCurves(figure);
}

std::string DrawLatencies(const Evaluation& evaluation) {
  HistogramFigure figure{.title = "Time of an image by stage",
                         .x_axis = "milliseconds",
                         .y_axis = "images",
                         .logarithmic = true,
                         .bins = 60};
  const std::pair<const char*, double Stages::*> kStages[] = {{"queue", &Stages::queue},
                                                              {"decode", &Stages::decode},
                                                              {"compute", &Stages::compute},
                                                              {"encode", &Stages::encode},
                                                              {"client", &Stages::client}};
  int colour = 0;
  for (const auto& [name, stage] : kStages) {
    HistogramFigure::Series& series = figure.series.emplace_back();
    series.name = name;
    series.colour = colour++;
    for (const Prediction& prediction : evaluation.predictions) {
      if (prediction.outcome == Outcome::kAnswered) series.values.push_back(1000 * prediction.seconds.*stage);
    }
  }
  return DrawHistogram(figure);
}

// A table in which each row has a name and a value. Add ignores an empty value.
class Facts {
 public:
  void Add(const char* name, const std::string& value) {
    if (!value.empty()) table_.rows.push_back({name, value});
  }
  const HtmlTable& table() const { return table_; }

 private:
  HtmlTable table_{.columns = {{""}, {""}}};
};

std::string ServedBy(const EvaluationMetrics& metrics) {
  std::vector<std::string> parts;
  for (const auto& [by, count] : metrics.served_by) {
    parts.push_back(metrics.served_by.size() == 1 ? by : absl::StrCat(by, " (", WithSeparators(count), " images)"));
  }
  return absl::StrJoin(parts, ", ");
}

// Returns a line "LABEL -> CLASS" for each label of the data set whose class in the model has another name. The line of
// a label without a class is "LABEL -> (none)".
std::string LabelMapInWords(const Evaluation& evaluation) {
  std::string text;
  const std::vector<int32_t>& map = evaluation.settings.label_map;
  for (size_t i = 0; i < map.size() && i < evaluation.data_labels.size(); ++i) {
    const std::string label = map[i] < 0 ? "(none)" : LabelOf(evaluation.model, map[i]);
    if (label != evaluation.data_labels[i]) absl::StrAppend(&text, evaluation.data_labels[i], " -> ", label, "\n");
  }
  return text;
}

}  // namespace

std::string PercentText(double share) {
  return absl::StrFormat("%.2f %%", 100 * share);
}

std::string PointsText(double difference) {
  return absl::StrFormat("%+.2f points", 100 * difference);
}

std::string DurationText(double seconds) {
  if (seconds < 1) return absl::StrFormat("%.3g ms", 1000 * seconds);
  if (seconds < 120) return absl::StrFormat("%.3g s", seconds);
  return absl::FormatDuration(absl::Trunc(absl::Seconds(seconds), absl::Seconds(1)));
}

std::string LabelOf(const v1::ModelVersion& model, int32_t label) {
  return label >= 0 && label < model.labels_size() ? model.labels(label) : absl::StrCat("class ", label);
}

std::string NameOf(const v1::ModelVersion& model) {
  return absl::StrCat(model.model(), " version ", model.version());
}

std::string IntervalInWords(int64_t right, int64_t all) {
  const Interval interval = WilsonInterval(right, all);
  return absl::StrFormat("95 %% interval %.2f to %.2f %%", 100 * interval.low, 100 * interval.high);
}

std::string MeanScoreText(const MeanScore& score) {
  const std::string mean = absl::StrFormat("%.4f", score.mean);
  if (!score.interval.has_value()) return mean;
  return absl::StrFormat("%s (%.4f to %.4f)", mean, score.interval->low, score.interval->high);
}

void AddTimes(const EvaluationPage& input, HtmlPage& page) {
  if (input.metrics.ledger.answered == 0) return;
  page.Section("Time",
               "queue, decode, compute, encode and their total, server, as the server reports them; client is the time "
               "from sending an image to its answer, with the number of concurrent requests that the client chose.");
  HtmlTable table{.columns = {{"stage"},
                              {"mean", true},
                              {"p50", true},
                              {"p90", true},
                              {"p95", true},
                              {"p99", true},
                              {"p99.9", true},
                              {"most", true}}};
  for (const char* stage : {"queue", "decode", "compute", "encode", "server", "client"}) {
    const auto found = input.metrics.latency.find(stage);
    if (found == input.metrics.latency.end()) continue;
    const Percentiles& of = found->second;
    table.rows.push_back({stage, DurationText(of.mean), DurationText(of.p50), DurationText(of.p90),
                          DurationText(of.p95), DurationText(of.p99), DurationText(of.p999), DurationText(of.max)});
  }
  page.Table(table);
  page.Charts({DrawLatencies(input.evaluation), DrawRate(input.evaluation)});
}

void AddAttentionDistances(const EvaluationPage& input, HtmlPage& page) {
  if (input.distances == nullptr && input.distances_fault.empty()) return;
  page.Section("Attention distance", "Mean attention distance of heads, in pixels of the input.");
  if (input.distances == nullptr) return page.Paragraph(absl::StrCat("Not measured: ", input.distances_fault, "."));
  const AttentionDistances& distances = *input.distances;
  const absl::StatusOr<std::string> plot = DrawDistances(distances);
  if (plot.ok()) {
    page.Charts({*plot});
  } else {
    page.Paragraph(std::string(plot.status().message()));
  }
  if (distances.failed > 0) {
    page.Paragraph(
        absl::StrCat(WithSeparators(distances.failed), " further images were not answered: ", distances.fault));
  }
  const HeadDiversity diversity = DiversityOf(distances.pixels, distances.heads);
  const HeadDiversity patches = DiversityOf(distances.patches, distances.heads);
  if (diversity.diversity) page.Paragraph(DiversityInWords(*diversity.diversity));
  const auto absent = std::ranges::count_if(distances.excluded, [](int64_t images) { return images > 0; });
  if (absent > 0) {
    page.Paragraph(absl::StrCat("Heads that attend to no cell of the grid in some images: ", absent, ". They have no ",
                                "distance there, so these images are left out of their means."));
  }
  HtmlTable table{.columns = {{"layer"},
                              {"mean, pixels", true},
                              {"deviation over heads", true},
                              {"mean, patches", true},
                              {"nearest head", true},
                              {"farthest head", true}}};
  const size_t heads = static_cast<size_t>(distances.heads);
  for (size_t layer = 0; layer < static_cast<size_t>(distances.layers); ++layer) {
    double low = std::nan(""), high = low;
    for (size_t i = layer * heads; i < (layer + 1) * heads; ++i) {
      low = std::fmin(low, distances.pixels[i]);  // ignores NaN, which stands for a head without a distance
      high = std::fmax(high, distances.pixels[i]);
    }
    table.rows.push_back({absl::StrCat(layer), PixelsText(diversity.means[layer]),
                          PixelsText(diversity.deviations[layer]), PixelsText(patches.means[layer]), PixelsText(low),
                          PixelsText(high)});
  }
  page.Table(table);
}

void AddProvenance(const EvaluationPage& input, HtmlPage& page) {
  const v1::ModelVersion& model = input.evaluation.model;
  const v1::Provenance& from = model.provenance();
  Facts facts;
  facts.Add("model", NameOf(model));
  facts.Add("weights, SHA-256", model.weights_sha256());
  facts.Add("parameters", model.parameters() > 0 ? WithSeparators(model.parameters()) : "");
  facts.Add("input", model.has_config() ? InputDescription(model.config()) : "");
  facts.Add("computed by", ServedBy(input.metrics));
  facts.Add("recipe", from.recipe());
  facts.Add("licence", LicenceOf(from));
  facts.Add("trained on", from.data());
  facts.Add("training data, digest", from.data_digest());
  if (from.epochs() > 0) facts.Add("epochs", absl::StrFormat("%.4g", from.epochs()));
  if (from.images_seen() > 0) facts.Add("images seen", WithSeparators(from.images_seen()));
  if (from.seed() != 0) facts.Add("seed", absl::StrCat(from.seed()));
  facts.Add("hardware", from.hardware());
  if (from.train_seconds() > 0) facts.Add("training time", DurationText(from.train_seconds()));
  facts.Add("source revision", from.source_revision());
  facts.Add("started from", from.started_from());
  facts.Add("weights at the start", from.continued_from());
  facts.Add("teacher", from.teacher());
  if (from.created_unix_seconds() > 0) facts.Add("published", TimeOf(static_cast<double>(from.created_unix_seconds())));
  page.Section("Provenance", "From the model's manifest.");
  page.Table(facts.table());
  if (from.metrics().empty()) return;
  page.Paragraph("Measured when it was published:");
  HtmlTable metrics{.columns = {{"measure"}, {"split"}, {"value", true}, {"images", true}}};
  for (const v1::Metric& metric : from.metrics()) {
    metrics.rows.push_back(
        {metric.name(), metric.split(), absl::StrFormat("%.5g", metric.value()), WithSeparators(metric.images())});
  }
  page.Table(metrics);
}

void AddSettings(const EvaluationPage& input, HtmlPage& page) {
  const Evaluation& evaluation = input.evaluation;
  const EvaluationSettings& settings = evaluation.settings;
  Facts facts;
  facts.Add("data", evaluation.data);
  facts.Add("split", absl::StrCat(settings.split, ", ", WithSeparators(settings.data_images), " images"));
  facts.Add("data, digest", settings.data_digest);
  facts.Add("limit", settings.limit > 0 ? absl::StrCat(WithSeparators(WithinLimit(settings)), ", evenly spread") : "");
  facts.Add("shard", settings.shard.of > 1 ? ToString(settings.shard) : "");
  facts.Add("resolution", settings.resolution.empty() ? "the model's policy" : settings.resolution);
  facts.Add("guesses kept", absl::StrCat(settings.top_k));
  page.Section("Settings");
  page.Table(facts.table());
  HtmlTable sessions{.columns = {{"server"}, {"from"}, {"to"}, {"images", true}}};
  for (const EvaluationSession& session : evaluation.sessions) {
    sessions.rows.push_back(
        {session.server, TimeOf(session.start), TimeOf(session.end), WithSeparators(session.images)});
  }
  page.Table(sessions);
  if (const std::string map = LabelMapInWords(evaluation); !map.empty()) page.Folded("Labels that were mapped", map);
  page.Paragraph("Command that repeats the evaluation, to be run in the same folder:");
  page.Add(absl::StrCat("<pre>", EscapeHtml(CommandOf(evaluation, input.folder, input.command, input.requested)),
                        "</pre>\n"));
}

}  // namespace vitrine
