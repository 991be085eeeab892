// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_SETTINGS_TRAFFIC_H_
#define VITRINE_SERVER_REGISTRY_SETTINGS_TRAFFIC_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/registry/settings/serving_settings.h"

namespace vitrine {

// Routes requests that name no version to the versions of a model. Rebuilt whenever versions or settings change. A
// request maps to a point in [0, 2^64). The versions with a share divide the range from 0 in the order of the settings;
// `stable` has the remaining points. If the first version's share grows, this version keeps all its requests.
struct TrafficTable {
  struct Part {
    uint64_t end = 0;  // end of the version's range of points, exclusive
    int64_t version = 0;
    double percent = 0;
  };
  int64_t stable = 0;       // 0: no version is READY, or the version that must be `stable` is not loaded yet
  std::vector<Part> parts;  // READY versions with a share, in rising order of `end`
  bool whole = false;       // true: the last part extends to the end of the range
  // READY versions by label. If the settings do not set the label `canary`, and only one version has a share, this
  // version has the label `canary`, unless it is `stable`. If the settings do not set the label `stable`, the version
  // in the field `stable` has it.
  std::map<std::string, int64_t, std::less<>> labels;

  int64_t Choose(uint64_t point) const;
  double PercentOf(int64_t version) const;  // returns the share of requests without version and label
};

// Makes the table. `ready`: the READY versions. `waiting`: the READY versions that become `stable` only by label, or if
// no other version can become `stable`. `held`: the previous table if the version that the plan labels `stable` is not
// loaded yet, otherwise null. The `stable` version of `held` is kept while it is READY and not excluded. Pure function.
TrafficTable MakeTrafficTable(const ModelPlan& plan, const std::set<int64_t>& ready,
                              const std::set<int64_t>& waiting = {}, const TrafficTable* held = nullptr);

// Returns the point of a request with an id: the FNV-1a hash of model, a zero byte and id, mixed by the finalizer of
// SplitMix64. Every process and release computes this point alike, so replicas agree, and the requests of an id get the
// same version after a restart.
uint64_t PointOfId(std::string_view model, std::string_view request_id);
// Returns the point of the n-th request without an id: n * 2^64 / (golden ratio), modulo 2^64. With these points,
// consecutive requests are divided almost exactly as the shares say.
uint64_t PointOfCount(uint64_t n);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_TRAFFIC_H_
