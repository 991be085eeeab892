// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/steps.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "models/tool/describe/graph/layers.h"

namespace vitrine {
namespace {

const char* Name(engine::StepKind kind) {
  switch (kind) {
    case engine::StepKind::kLinear:
      return "linear";
    case engine::StepKind::kProduct:
      return "product";
    case engine::StepKind::kConvolution:
      return "convolution";
    case engine::StepKind::kRows:
      return "rows";
  }
  return "";
}

RooflineGroup GroupOf(engine::StepKind kind) {
  switch (kind) {
    case engine::StepKind::kLinear:
      return RooflineGroup::kLinear;
    case engine::StepKind::kProduct:
      return RooflineGroup::kProduct;
    case engine::StepKind::kConvolution:
      return RooflineGroup::kConvolution;
    case engine::StepKind::kRows:
      return RooflineGroup::kElementwise;
  }
  return RooflineGroup::kElementwise;
}

double Gflops(const StepProfile& step) {
  return 2.0 * static_cast<double>(step.multiply_adds) / step.seconds / 1e9;
}

}  // namespace

std::vector<StepGroup> GroupsOf(const Measurement& measured, bool every) {
  std::vector<StepGroup> groups;
  std::map<std::string, size_t> known;
  for (const StepProfile& step : measured.steps) {
    const std::string shared = OverBlocks(step.name);
    const std::string key = absl::StrCat(shared, " ", step.multiply_adds, " ", step.bytes);
    const auto found = every ? known.end() : known.find(key);
    if (found == known.end()) {
      known[key] = groups.size();
      groups.push_back({step});
    } else {
      StepGroup& group = groups[found->second];
      group.step.name = shared;
      group.step.seconds += step.seconds;
      ++group.count;
    }
  }
  for (StepGroup& group : groups) group.step.seconds /= group.count;
  return groups;
}

DataTable StepTable(const std::vector<StepGroup>& steps, const Measurement& measured) {
  DataTable table({{"name", "STEP"},
                   {"kind", "KIND"},
                   {"count", "TIMES", true},
                   {"multiply_adds", "MACS", true},
                   {"bytes", "BYTES", true},
                   {"seconds", "US", true},
                   {"bound_seconds", "BOUND US", true},
                   {"gflops", "GFLOP/S", true},
                   {"of_bound", "OF BOUND", true},
                   {"share", "SHARE", true}});
  const double total = measured.SumOfSteps();
  const auto microseconds = [](double seconds) {
    return Cell::Number(seconds, absl::StrFormat("%.*f", seconds < 1e-4 ? 1 : 0, seconds * 1e6));
  };
  for (const auto& [step, count] : steps) {
    const double bound = BoundOf(step, measured.peaks), share = count * step.seconds / total;
    table.Add({Cell::Text(step.name),
               Cell::Text(Name(step.kind)),
               Cell::Count(count),
               {step.multiply_adds, Short(static_cast<double>(step.multiply_adds))},
               {step.bytes, Short(static_cast<double>(step.bytes))},
               microseconds(step.seconds),
               microseconds(bound),
               Cell::Number(Gflops(step), absl::StrFormat("%.1f", Gflops(step))),
               Cell::Number(bound / step.seconds, absl::StrFormat("%.2f", bound / step.seconds)),
               Cell::Number(share, absl::StrFormat("%.1f %%", 100 * share))});
  }
  return table;
}

std::vector<RooflinePoint> PointsOf(const std::vector<StepGroup>& steps, const Measurement& measured) {
  std::vector<RooflinePoint> points;
  const double total = measured.SumOfSteps();
  for (const auto& [step, count] : steps) {
    if (step.multiply_adds == 0) continue;
    const double intensity = 2.0 * static_cast<double>(step.multiply_adds) / static_cast<double>(step.bytes);
    points.push_back({LabelOf(step.name), GroupOf(step.kind), intensity, Gflops(step), count * step.seconds / total});
  }
  return points;
}

}  // namespace vitrine
