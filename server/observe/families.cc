// SPDX-License-Identifier: Apache-2.0
#include "server/observe/families.h"

#include <limits>
#include <utility>

#include "absl/status/status.h"

namespace vitrine {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric& Add(MetricFamily& family, MetricLabels labels) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  return metric;
}

}  // namespace

MetricFamily& AddFamily(MetricFamilies& families, const MetricRow& row) {
  MetricFamily& family = families.emplace_back();
  family.name = row.name;
  family.help = row.help;
  std::erase(family.help, '`');
  family.type = row.type;
  return family;
}

void AddValue(MetricFamily& family, MetricLabels labels, double value) {
  ClientMetric& metric = Add(family, std::move(labels));
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void AddHistogram(MetricFamily& family, MetricLabels labels, const HistogramTotals& totals) {
  ClientMetric::Histogram& histogram = Add(family, std::move(labels)).histogram;
  for (size_t i = 0; i < totals.counts.size(); ++i) {
    histogram.sample_count += totals.counts[i];
    const double bound = i < totals.bounds.size() ? totals.bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = totals.sum;
}

void AddSingle(MetricFamilies& families, const MetricRow& row, double value) {
  AddValue(AddFamily(families, row), {}, value);
}

std::string CodeName(int code) {
  const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
  return name.empty() ? "UNKNOWN" : name;
}

}  // namespace vitrine
