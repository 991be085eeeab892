// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text as traces, mixes and ranges of `vitrine bench`. The text must be rejected with a status, or
// give values in range.
#include <cmath>
#include <cstdint>
#include <string>

#include "client/load/rate_search.h"
#include "client/load/workload/request_class.h"
#include "client/load/workload/trace_file.h"
#include "tests/fuzz/require.h"

namespace vitrine {
namespace {

void TryTrace(const std::string& text) {
  const auto trace = ParseTrace(text, "", RequestClass());
  if (!trace.ok()) return Require(!trace.status().message().empty());
  Require(!trace->arrivals.empty());
  int64_t last = 0;
  for (const Arrival& arrival : trace->arrivals) {
    Require(arrival.due >= last && arrival.request < trace->requests.size());
    last = arrival.due;
  }
}

void TryMix(const std::string& text) {
  const auto mix = ParseMix(text, RequestClass());
  if (!mix.ok()) return Require(!mix.status().message().empty());
  for (const RequestClass& one : *mix) {
    Require(std::isfinite(one.weight) && one.weight > 0 && one.deadline > absl::ZeroDuration());
    Require(!one.Description().empty());
  }
}

void TryRanges(const std::string& text) {
  if (const auto range = ParseSweepRange(text); range.ok()) {
    double last = 0;
    for (const double rate : range->Rates()) {
      Require(rate > last);
      last = rate;
    }
    Require(last == range->high);
  }
  if (const auto bounds = ParseLatencyBounds(text); bounds.ok()) {
    for (const LatencyBound& bound : *bounds) Require(bound.quantile > 0 && bound.quantile <= 1);
  }
}

}  // namespace
}  // namespace vitrine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 0) vitrine::TryTrace("seconds,model,picture,resolution,priority,deadline\n" + text);
  if (data[0] % 4 == 1) vitrine::TryTrace(text);
  if (data[0] % 4 == 2) vitrine::TryMix(text);
  if (data[0] % 4 == 3) vitrine::TryRanges(text);
  return 0;
}
