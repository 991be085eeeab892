// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/traffic.h"

#include <cmath>
#include <limits>

#include "server/registry/settings/serving_rules.h"

namespace vitrine {
namespace {

constexpr double kWholeLine = 18446744073709551616.0;  // 2^64

// Returns the version that is `stable` when no label sets it: the newest version that is not a canary, not excluded and
// not waiting; otherwise the newest version that is not excluded; otherwise the newest version.
int64_t NewestForAll(const ModelPlan& plan, const std::set<int64_t>& ready, const std::set<int64_t>& waiting) {
  for (auto version = ready.rbegin(); version != ready.rend(); ++version) {
    if (waiting.contains(*version)) continue;
    if (!IsCanary(plan.serving, *version) && !IsPutAway(plan.changed, *version)) return *version;
  }
  for (auto version = ready.rbegin(); version != ready.rend(); ++version) {
    if (!IsPutAway(plan.changed, *version)) return *version;
  }
  return ready.empty() ? 0 : *ready.rbegin();
}

// Returns true if version `stable` (0: none) may stay `stable` until the version with the label `stable` is loaded.
bool CanStay(const ModelPlan& plan, const std::set<int64_t>& ready, int64_t stable) {
  return stable == 0 || (ready.contains(stable) && !IsPutAway(plan.changed, stable));
}

}  // namespace

int64_t TrafficTable::Choose(uint64_t point) const {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (point < parts[i].end || (whole && i + 1 == parts.size())) return parts[i].version;
  }
  return stable;
}

double TrafficTable::PercentOf(int64_t version) const {
  double own = 0, others = 0;
  for (const Part& part : parts) (part.version == version ? own : others) += part.percent;
  return version == stable ? std::max(0.0, 100 - others) : own;
}

TrafficTable MakeTrafficTable(const ModelPlan& plan, const std::set<int64_t>& ready, const std::set<int64_t>& waiting,
                              const TrafficTable* held) {
  TrafficTable table;
  for (const v1::VersionLabel& label : plan.serving.labels()) {
    if (ready.contains(label.version())) table.labels[label.label()] = label.version();
  }
  const int64_t pinned = LabelledVersion(plan.serving, kStableLabel);
  bool labels_it = pinned == 0;
  if (ready.contains(pinned)) {
    table.stable = pinned;
  } else if (held != nullptr && CanStay(plan, ready, held->stable)) {
    table.stable = held->stable;
    labels_it = held->labels.contains(kStableLabel);
  } else {
    table.stable = NewestForAll(plan, ready, waiting);
  }
  if (labels_it && table.stable != 0) table.labels[kStableLabel] = table.stable;
  double sum = 0;
  for (const v1::TrafficShare& share : plan.serving.traffic()) {
    if (!ready.contains(share.version())) continue;
    sum += share.percent();
    const double end = sum / 100 * kWholeLine;
    table.whole = end >= kWholeLine;
    table.parts.push_back({table.whole ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(end),
                           share.version(), share.percent()});
  }
  // If the settings give the label `canary` to a version that is not READY, no version has the label. If the settings
  // do not set this label, and only one version has a share, this version gets the label, unless it is `stable`.
  if (LabelledVersion(plan.serving, kCanaryLabel) == 0 && table.parts.size() == 1 &&
      table.parts[0].version != table.stable) {
    table.labels[kCanaryLabel] = table.parts[0].version;
  }
  return table;
}

uint64_t PointOfId(std::string_view model, std::string_view request_id) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const char c : model) add(static_cast<unsigned char>(c));
  add(0);
  for (const char c : request_id) add(static_cast<unsigned char>(c));
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

uint64_t PointOfCount(uint64_t n) {
  return n * 0x9e3779b97f4a7c15;
}

}  // namespace vitrine
