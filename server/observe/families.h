// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_FAMILIES_H_
#define VITRINE_SERVER_OBSERVE_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "server/observe/histogram.h"
#include "server/observe/metric_table.h"

// Helpers that build metric families.
namespace vitrine {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// This is a deque, because references to its elements stay valid when it grows.
using MetricFamilies = std::deque<prometheus::MetricFamily>;

// Appends an empty family and returns it. The family has the row's help text, without backticks.
prometheus::MetricFamily& AddFamily(MetricFamilies& families, const MetricRow& row);
// Adds one sample of a gauge or a counter.
void AddValue(prometheus::MetricFamily& family, MetricLabels labels, double value);
// Adds one histogram.
void AddHistogram(prometheus::MetricFamily& family, MetricLabels labels, const HistogramTotals& totals);
// Adds a family with one sample, a gauge or a counter without labels.
void AddSingle(MetricFamilies& families, const MetricRow& row, double value);

// Returns a counter's value as a sample.
inline double Read(const std::atomic<uint64_t>& counter) {
  return static_cast<double>(counter.load(std::memory_order_relaxed));
}

// Returns "OK", "INVALID_ARGUMENT", ... for the canonical codes 0 to 16; "UNKNOWN" for other numbers.
std::string CodeName(int code);

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_FAMILIES_H_
