// SPDX-License-Identifier: Apache-2.0
// Metrics of requests, by model and by version.
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

}  // namespace

void Metrics::AddRequests(MetricFamilies& families) const {
  MetricFamily& requests = AddFamily(families, MetricOf("vitrine_requests_total"));
  MetricFamily& durations = AddFamily(families, MetricOf("vitrine_request_duration_seconds"));
  const auto add = [&](const std::string& model, const ModelMetrics& metrics) {
    const RequestTotals totals = metrics.Requests();
    for (int m = 0; m < kMethods; ++m) {
      const char* const name = MethodName(static_cast<Method>(m));
      const RequestTotals::ByMethod& method = totals.methods[m];
      for (int code = 0; code < kCodes; ++code) {
        // Codes that never occurred are omitted. OK is always present, because the rate of the first requests can only
        // be computed from an earlier sample of zero.
        if (method.codes[code] == 0 && code != 0) continue;
        AddValue(requests, {{"model", model}, {"method", name}, {"code", CodeName(code)}},
                 static_cast<double>(method.codes[code]));
      }
      AddHistogram(durations, {{"model", model}, {"method", name}, {"outcome", "ok"}}, method.ok_duration);
      AddHistogram(durations, {{"model", model}, {"method", name}, {"outcome", "error"}}, method.error_duration);
    }
  };
  for (const auto& [model, metrics] : WithUnknown()) add(model, *metrics);
}

void Metrics::AddEnds(MetricFamilies& families) const {
  MetricFamily& shed = AddFamily(families, MetricOf("vitrine_requests_shed_total"));
  MetricFamily& expired = AddFamily(families, MetricOf("vitrine_requests_expired_total"));
  MetricFamily& cancelled = AddFamily(families, MetricOf("vitrine_requests_cancelled_total"));
  const auto add = [&](const std::string& model, const ModelMetrics& metrics) {
    const RequestTotals totals = metrics.Requests();
    for (int reason = 0; reason < kShedReasons; ++reason) {
      AddValue(shed, {{"model", model}, {"reason", ShedReasonName(static_cast<ShedReason>(reason))}},
               static_cast<double>(totals.shed[reason]));
    }
    for (int progress = 0; progress < kProgresses; ++progress) {
      const MetricLabels labels = {{"model", model}, {"stage", kProgressNames[progress]}};
      AddValue(expired, labels, Read(metrics.expired_[progress]));
      // Cancellation is first checked while a request waits, so there is no count for kAdmission.
      if (progress > 0) AddValue(cancelled, labels, Read(metrics.cancelled_[progress]));
    }
  };
  for (const auto& [model, metrics] : WithUnknown()) add(model, *metrics);
}

void Metrics::AddStages(MetricFamilies& families) const {
  MetricFamily& stages = AddFamily(families, MetricOf("vitrine_stage_duration_seconds"));
  MetricFamily& images = AddFamily(families, MetricOf("vitrine_batch_images"));
  MetricFamily& tokens = AddFamily(families, MetricOf("vitrine_batch_tokens"));
  MetricFamily& grids = AddFamily(families, MetricOf("vitrine_batch_grids"));
  for (const auto& [model, metrics] : Models()) {
    for (int stage = 0; stage < kStages; ++stage) {
      const char* const name = StageName(static_cast<Stage>(stage));
      AddHistogram(stages, {{"model", model}, {"stage", name}, {"outcome", "ok"}}, metrics->answered_[stage].Totals());
      AddHistogram(stages, {{"model", model}, {"stage", name}, {"outcome", "error"}},
                   metrics->unanswered_[stage].Totals());
    }
    AddHistogram(images, {{"model", model}}, metrics->batch_images_.Totals());
    AddHistogram(tokens, {{"model", model}}, metrics->batch_tokens_.Totals());
    AddHistogram(grids, {{"model", model}}, metrics->batch_grids_.Totals());
  }
}

void Metrics::AddVersionRequests(MetricFamilies& families) const {
  MetricFamily& requests = AddFamily(families, MetricOf("vitrine_version_requests_total"));
  MetricFamily& durations = AddFamily(families, MetricOf("vitrine_version_request_duration_seconds"));
  MetricFamily& confidences = AddFamily(families, MetricOf("vitrine_top1_confidence_ratio"));
  MetricFamily& entropies = AddFamily(families, MetricOf("vitrine_prediction_entropy_ratio"));
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
    AddHistogram(durations, id, metrics.requests_.OkDuration());
    AddHistogram(confidences, id, metrics.confidence_.Totals());
    AddHistogram(entropies, id, metrics.entropy_.Totals());
  };
  for (const auto& [model, metrics] : Models()) {
    for (const auto& [version, of_version] : metrics->Versions()) add(model, version, *of_version);
  }
}

}  // namespace vitrine
