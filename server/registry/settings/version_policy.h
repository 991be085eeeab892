// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_VERSION_POLICY_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_VERSION_POLICY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "server/registry/settings/serving_settings.h"

namespace vitrine {

// State of a version as the policy sees it.
struct VersionFacts {
  enum class State {
    kAbsent,    // on disk, not in memory
    kReady,     // serves
    kRetiring,  // was replaced; a request may still hold it
    kFailed,    // failed, and its next try is not due
  };
  int64_t version = 0;
  State state = State::kAbsent;
  bool on_disk = true;
  bool is_waiting = false;  // READY but not serving automatically: see VersionTable::Waiting
};

// Next action for a model.
struct VersionStep {
  std::optional<int64_t> load;  // version to load before the next call of NextStep
  std::vector<int64_t> retire;  // only if there is nothing to load
};

// Chooses which versions of a model are in memory. Pure: the same arguments give the same step.
//
// Wanted are the versions of the policy, those with a label or a share of the traffic, and those loaded by name, except
// those that were put away. `latest` does not count failed versions, canaries (IsCanary) and waiting versions; the
// newest waiting version is wanted in addition. READY versions that are gone from the disk count as present.
// Guarantees, unless the model was unloaded as a whole:
//   - the newest wanted version is loaded first, but canaries after all others, and no version retires before every
//     wanted version is READY or has failed;
//   - the last READY version never retires, wanted or not: the newest of those not put away stays, else the newest;
//   - a version that was put away is not loaded.
VersionStep NextStep(const std::vector<VersionFacts>& versions, const ModelPlan& plan);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_VERSION_POLICY_H_
