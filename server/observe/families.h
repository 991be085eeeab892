// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_OBSERVE_FAMILIES_H_
#define VITRINE_SERVER_OBSERVE_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "server/observe/histogram.h"

// What metric families are made of.
namespace vitrine {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

// Appends an empty family and returns it. The reference holds until the next call.
prometheus::MetricFamily& AddFamily(std::vector<prometheus::MetricFamily>& families, const char* name, const char* help,
                                    prometheus::MetricType type);
// One sample of a gauge or a counter.
void AddValue(prometheus::MetricFamily& family, MetricLabels labels, double value);
// One histogram; totals without counts stand for an empty one.
void AddHistogram(prometheus::MetricFamily& family, MetricLabels labels, std::span<const double> bounds,
                  const HistogramTotals& totals);
// A gauge without labels.
void AddGauge(std::vector<prometheus::MetricFamily>& families, const char* name, const char* help, double value);
// A counter without labels.
void AddCounter(std::vector<prometheus::MetricFamily>& families, const char* name, const char* help, double value);

// A counter as a sample.
inline double Read(const std::atomic<uint64_t>& counter) {
  return static_cast<double>(counter.load(std::memory_order_relaxed));
}

// "OK", "INVALID_ARGUMENT", ...: the canonical code 0 to 16.
const char* CodeName(int code);

}  // namespace vitrine

#endif  // VITRINE_SERVER_OBSERVE_FAMILIES_H_
