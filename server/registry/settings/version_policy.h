// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_VERSION_POLICY_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_VERSION_POLICY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "server/registry/settings/serving_settings.h"

namespace vitrine {

// Facts about a version that the policy uses.
struct VersionFacts {
  enum class State {
    kAbsent,    // on disk, not in memory
    kReady,     // READY: serves requests
    kRetiring,  // replaced, but a request may still use the version
    kFailed,    // failed, and the next try is not due yet
  };
  int64_t version = 0;
  State state = State::kAbsent;
  bool on_disk = true;
  // true: READY, but gets only requests that name it (see VersionTable::Waiting)
  bool is_waiting = false;
};

// Next step for a model.
struct VersionStep {
  std::optional<int64_t> load;  // version to load before the next call of NextStep
  std::vector<int64_t> retire;  // versions to retire; empty while there is a version to load
};

// Chooses which versions of a model are in memory. Pure: equal arguments give equal steps.
//
// A version is wanted if the policy selects it, it has a label or a share of the traffic, or it was loaded by name.
// Versions that were put away (rolled back or unloaded) are never wanted. The policy `latest` selects a given number of
// the newest versions. Failed and waiting versions do not count towards this number. Canaries (IsCanary) count only if
// the version with the label `stable` is READY or can be loaded. In this case versions that were put away also count,
// so that none of them is replaced by an older version that is newer than `stable`. Under this policy, the newest
// waiting version is also wanted. READY versions that are gone from the disk count as present.
//
// Guarantees, except if the model was unloaded as a whole:
//   - wanted versions are loaded one by one: first the version labelled `stable`, then the other versions from the
//     newest to the oldest, canaries last; no version retires before every wanted version is READY or has failed;
//   - if any version is READY, one READY version stays, even if unwanted: the newest version that was not put away,
//     otherwise the newest version.
VersionStep NextStep(const std::vector<VersionFacts>& versions, const ModelPlan& plan);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_VERSION_POLICY_H_
