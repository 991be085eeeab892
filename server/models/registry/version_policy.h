// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_VERSION_POLICY_H_
#define VITRINE_SERVER_MODELS_REGISTRY_VERSION_POLICY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "server/models/registry/serving_settings.h"

namespace vitrine {

// A version of a model, as far as the policy wants to know.
struct VersionFacts {
  enum class State {
    kAbsent,    // on disk, not in memory
    kReady,     // serves
    kRetiring,  // was replaced; a request may still hold it
    kFailed,    // was refused and its next try is not due
  };
  int64_t version = 0;
  State state = State::kAbsent;
  bool on_disk = true;
  bool is_waiting = false;  // READY, and serves nobody by itself: see VersionTable::Waiting
};

// What to do next about a model.
struct VersionStep {
  std::optional<int64_t> load;  // bring this one into memory, then ask again
  std::vector<int64_t> retire;  // only where there is nothing to load
};

// Chooses which versions of a model are in memory. Pure: the same arguments give the same step.
//
// Wanted are the versions of the policy, those with a label or a share of the traffic, and those that were loaded by
// name, less those that were put away. `latest` counts neither what is refused nor what is tried out, nor versions that
// wait, of which the newest is wanted beside. Versions that are
// READY but gone from the disk count as if they were there. Guarantees, unless the model was unloaded as a whole:
//   - the newest wanted version is loaded first, but those that are tried out (IsTriedOut) after all others, and
//     nothing retires before every wanted version is READY or refused;
//   - the last READY version never retires, wanted or not: the newest of those not put away stays, else the newest;
//   - a version that was put away is not loaded.
VersionStep NextStep(const std::vector<VersionFacts>& versions, const ModelPlan& plan);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_VERSION_POLICY_H_
