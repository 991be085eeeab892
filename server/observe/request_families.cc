// SPDX-License-Identifier: Apache-2.0
// The metrics of requests, by model and by version.
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/observe/families.h"
#include "server/observe/metric_table.h"
#include "server/observe/metrics.h"

namespace vitrine {
namespace {

using prometheus::MetricFamily;

constexpr const char* kProgressNames[] = {"admission", "queue", "compute"};
static_assert(std::size(kProgressNames) == kProgresses);

HistogramTotals TotalsOf(const Histogram& histogram) {
  HistogramTotals totals;
  histogram.AddTo(totals);
  return totals;
}

}  // namespace

void Metrics::AddRequests(Families& families) const {
  MetricFamily requests = NewFamily(MetricOf("vitrine_requests_total"));
  MetricFamily durations = NewFamily(MetricOf("vitrine_request_duration_seconds"));
  const auto add = [&](const std::string& model, const ModelMetrics& metrics) {
    const RequestTotals totals = metrics.Requests();
    for (int m = 0; m < kMethods; ++m) {
      const char* const name = MethodName(static_cast<Method>(m));
      const RequestTotals::ByMethod& method = totals.methods[m];
      for (int code = 0; code < kCodes; ++code) {
        // Codes that never came are left out, but for OK: rates need a zero to start from.
        if (method.codes[code] == 0 && code != 0) continue;
        AddValue(requests, {{"model", model}, {"method", name}, {"code", CodeName(code)}},
                 static_cast<double>(method.codes[code]));
      }
      for (const auto& [outcome, histogram] :
           {std::pair("ok", &method.ok_duration), std::pair("error", &method.error_duration)}) {
        AddHistogram(durations, {{"model", model}, {"method", name}, {"outcome", outcome}}, SecondBounds(), *histogram);
      }
    }
  };
  for (const auto& [model, metrics] : Models()) add(model, *metrics);
  add("unknown", *unknown_);
  families.push_back(std::move(requests));
  families.push_back(std::move(durations));
}

void Metrics::AddEnds(Families& families) const {
  MetricFamily shed = NewFamily(MetricOf("vitrine_requests_shed_total"));
  MetricFamily expired = NewFamily(MetricOf("vitrine_requests_expired_total"));
  MetricFamily cancelled = NewFamily(MetricOf("vitrine_requests_cancelled_total"));
  const auto add = [&](const std::string& model, const ModelMetrics& metrics) {
    const RequestTotals totals = metrics.Requests();
    for (int reason = 0; reason < kShedReasons; ++reason) {
      AddValue(shed, {{"model", model}, {"reason", ShedReasonName(static_cast<ShedReason>(reason))}},
               static_cast<double>(totals.shed[reason]));
    }
    for (int progress = 0; progress < kProgresses; ++progress) {
      const MetricLabels labels = {{"model", model}, {"stage", kProgressNames[progress]}};
      AddValue(expired, labels, Read(metrics.expired_[progress]));
      // Nobody looks whether a client has left before its request waits.
      if (progress > 0) AddValue(cancelled, labels, Read(metrics.cancelled_[progress]));
    }
  };
  for (const auto& [model, metrics] : Models()) add(model, *metrics);
  add("unknown", *unknown_);
  families.push_back(std::move(shed));
  families.push_back(std::move(expired));
  families.push_back(std::move(cancelled));
}

void Metrics::AddStages(Families& families) const {
  MetricFamily stages = NewFamily(MetricOf("vitrine_stage_duration_seconds"));
  MetricFamily images = NewFamily(MetricOf("vitrine_batch_images"));
  MetricFamily tokens = NewFamily(MetricOf("vitrine_batch_tokens"));
  MetricFamily grids = NewFamily(MetricOf("vitrine_batch_grids"));
  for (const auto& [model, metrics] : Models()) {
    std::array<HistogramTotals, kStages> stage_totals;
    HistogramTotals image_totals, token_totals, grid_totals;
    for (const auto& executor : metrics->executors_) {
      for (int stage = 0; stage < kStages; ++stage) executor->stages[stage].AddTo(stage_totals[stage]);
      executor->batch_images.AddTo(image_totals);
      executor->batch_tokens.AddTo(token_totals);
      executor->batch_grids.AddTo(grid_totals);
    }
    for (int stage = 0; stage < kStages; ++stage) {
      const auto add = [&, &name = model](const char* outcome, const HistogramTotals& totals) {
        AddHistogram(stages, {{"model", name}, {"stage", StageName(static_cast<Stage>(stage))}, {"outcome", outcome}},
                     SecondBounds(), totals);
      };
      add("ok", stage_totals[stage]);
      add("error", TotalsOf(metrics->unanswered_[stage]));
    }
    AddHistogram(images, {{"model", model}}, ImageBounds(), image_totals);
    AddHistogram(tokens, {{"model", model}}, TokenBounds(), token_totals);
    AddHistogram(grids, {{"model", model}}, GridBounds(), grid_totals);
  }
  families.push_back(std::move(stages));
  families.push_back(std::move(images));
  families.push_back(std::move(tokens));
  families.push_back(std::move(grids));
}

void Metrics::AddVersionRequests(Families& families) const {
  MetricFamily requests = NewFamily(MetricOf("vitrine_version_requests_total"));
  MetricFamily durations = NewFamily(MetricOf("vitrine_version_request_duration_seconds"));
  MetricFamily confidences = NewFamily(MetricOf("vitrine_top1_confidence_ratio"));
  MetricFamily entropies = NewFamily(MetricOf("vitrine_prediction_entropy_ratio"));
  const auto add = [&](const std::string& model, int64_t version, const VersionMetrics& metrics) {
    const MetricLabels id = {{"model", model}, {"version", absl::StrCat(version)}};
    const RequestTotals totals = metrics.Requests();
    for (int code = 0; code < kCodes; ++code) {
      const uint64_t count = totals.OfCode(static_cast<absl::StatusCode>(code));
      if (count == 0 && code != 0) continue;
      MetricLabels labels = id;
      labels.push_back({"code", CodeName(code)});
      AddValue(requests, std::move(labels), static_cast<double>(count));
    }
    HistogramTotals duration, confidence, entropy;
    for (const auto& executor : metrics.executors_) {
      executor->duration.AddTo(duration);
      executor->confidence.AddTo(confidence);
      executor->entropy.AddTo(entropy);
    }
    AddHistogram(durations, id, SecondBounds(), duration);
    AddHistogram(confidences, id, ConfidenceBounds(), confidence);
    AddHistogram(entropies, id, EntropyBounds(), entropy);
  };
  for (const auto& [model, metrics] : Models()) {
    for (const auto& [version, of_version] : metrics->Versions()) add(model, version, *of_version);
  }
  families.push_back(std::move(requests));
  families.push_back(std::move(durations));
  families.push_back(std::move(confidences));
  families.push_back(std::move(entropies));
}

}  // namespace vitrine
