// SPDX-License-Identifier: Apache-2.0
#include "server/registry/settings/version_policy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "server/registry/settings/serving_rules.h"

namespace vitrine {
namespace {

using State = VersionFacts::State;
using Facts = std::map<int64_t, VersionFacts, std::greater<>>;  // newest first

bool CanServe(const VersionFacts& version) {
  return version.state == State::kReady || (version.on_disk && version.state != State::kFailed);
}

// Returns the versions that are named by a label, a share or an operator.
std::set<int64_t> Named(const ModelPlan& plan) {
  std::set<int64_t> named;
  for (const v1::VersionLabel& label : plan.serving.labels()) named.insert(label.version());
  for (const v1::TrafficShare& share : plan.serving.traffic()) named.insert(share.version());
  named.insert(plan.changed.loaded().begin(), plan.changed.loaded().end());
  return named;
}

size_t NewerPutAway(const ModelPlan& plan, int64_t version) {
  const auto& away = plan.changed.put_away();
  return static_cast<size_t>(
      std::count_if(away.begin(), away.end(), [&](const v1::PutAway& each) { return each.version() > version; }));
}

std::set<int64_t> OfPolicy(const Facts& usable, const ModelPlan& plan) {
  const v1::ModelServing& serving = plan.serving;
  const v1::VersionPolicy& policy = serving.version_policy();
  std::set<int64_t> versions;
  switch (policy.policy_case()) {
    case v1::VersionPolicy::kSpecific:
      versions.insert(policy.specific().versions().begin(), policy.specific().versions().end());
      break;
    case v1::VersionPolicy::kAll:
      for (const auto& [number, facts] : usable) versions.insert(number);
      break;
    default: {
      const size_t most = static_cast<size_t>(std::max(policy.latest(), 1));
      const int64_t stable = LabelledVersion(serving, kStableLabel);
      const bool stable_serves = usable.contains(stable);
      std::optional<int64_t> waiting;
      for (auto version = usable.begin(); version != usable.end() && versions.size() < most; ++version) {
        const int64_t number = version->first;
        // Canaries, which Named() adds, and waiting versions must not displace the version that serves requests without
        // a version or label. The version with label `stable` cannot be displaced, because Named() also adds it.
        if (!stable_serves && IsCanary(serving, number)) continue;
        // A version that was rolled back or unloaded still counts towards `most`, so it is not replaced by an older
        // version that is newer than `stable`.
        const bool replaces = stable_serves && number > stable && versions.size() + NewerPutAway(plan, number) >= most;
        if (replaces) continue;
        if (!version->second.is_waiting) {
          versions.insert(number);
        } else if (!waiting.has_value()) {
          waiting = number;
        }
      }
      if (waiting.has_value()) versions.insert(*waiting);
    }
  }
  return versions;
}

// Returns the version that stays if no wanted version is READY; 0 if no version is READY.
int64_t LastResort(const Facts& all, const ModelPlan& plan) {
  int64_t resort = 0;
  for (const auto& [number, facts] : all) {
    if (facts.state != State::kReady) continue;
    if (!IsPutAway(plan.changed, number)) return number;
    if (resort == 0) resort = number;
  }
  return resort;
}

}  // namespace

VersionStep NextStep(const std::vector<VersionFacts>& versions, const ModelPlan& plan) {
  Facts all, usable;
  for (const VersionFacts& version : versions) {
    all[version.version] = version;
    if (CanServe(version) && !IsPutAway(plan.changed, version.version)) usable[version.version] = version;
  }
  std::set<int64_t> wanted;
  if (!plan.changed.unloaded()) {
    wanted = OfPolicy(usable, plan);
    wanted.merge(Named(plan));
  }
  VersionStep step;
  // The version with label `stable` is loaded first, so that no other version answers in its place before the server
  // has tried to load it.
  const auto pinned = usable.find(LabelledVersion(plan.serving, kStableLabel));
  if (pinned != usable.end() && wanted.contains(pinned->first) && pinned->second.state != State::kReady) {
    step.load = pinned->first;
    return step;
  }
  bool serves = false;
  for (const bool tried_out : {false, true}) {
    for (const auto& [number, facts] : usable) {
      if (!wanted.contains(number) || IsCanary(plan.serving, number) != tried_out) continue;
      if (facts.state != State::kReady) {
        step.load = number;
        return step;
      }
      serves = true;
    }
  }
  const int64_t kept = serves || plan.changed.unloaded() ? 0 : LastResort(all, plan);
  for (const auto& [number, facts] : all) {
    const bool stays = number == kept || (wanted.contains(number) && !IsPutAway(plan.changed, number));
    if (facts.state == State::kReady && !stays) step.retire.push_back(number);
  }
  return step;
}

}  // namespace vitrine
