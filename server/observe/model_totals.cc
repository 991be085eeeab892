// SPDX-License-Identifier: Apache-2.0
// Sums for callers that ask for numbers and not for metrics.
#include <numeric>

#include "server/observe/model_metrics.h"

namespace vitrine {
namespace {

void Add(const HistogramTotals& sum, StageTotals& totals) {
  totals.count += std::accumulate(sum.counts.begin(), sum.counts.end(), uint64_t{0});
  totals.seconds += sum.sum;
}

void Add(const Histogram& histogram, StageTotals& totals) {
  HistogramTotals sum;
  histogram.AddTo(sum);
  Add(sum, totals);
}

}  // namespace

ModelTotals ModelMetrics::Totals() const {
  ModelTotals totals;
  StageTotals batches;
  for (const auto& executor : executors_) {
    for (int stage = 0; stage < kStages; ++stage) Add(executor->stages[stage], totals.stages[stage]);
    Add(executor->batch_images, batches);
  }
  totals.batches = batches.count;
  for (const RequestTotals::ByMethod& method : Requests().methods) {
    Add(method.ok_duration, totals.succeeded);
    Add(method.error_duration, totals.failed);
  }
  return totals;
}

}  // namespace vitrine
