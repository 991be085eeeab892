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

// Routes requests that name no version to the versions of a model. Rebuilt whenever versions or settings change.
//
// A request maps to a point of [0, 2^64). The versions with a share divide the range from 0 in the order of the
// settings, and `stable` has the rest: if the first share grows, it keeps the requests that it had.
struct TrafficTable {
  struct Part {
    uint64_t end = 0;  // end of its points, exclusive
    int64_t version = 0;
    double percent = 0;
  };
  int64_t stable = 0;       // 0: no version is READY
  std::vector<Part> parts;  // READY versions with a share, ends rising
  bool whole = false;       // the last part extends to the end of the range
  // labels of READY versions, with the resulting `stable` and `canary`
  std::map<std::string, int64_t, std::less<>> labels;

  int64_t Choose(uint64_t point) const;
  double PercentOf(int64_t version) const;  // share of the requests that name neither version nor label
};

// `ready`: the READY versions. `waiting`: those of them that become `stable` only by label, or if no other version can.
// Pure.
TrafficTable MakeTrafficTable(const ModelPlan& plan, const std::set<int64_t>& ready,
                              const std::set<int64_t>& waiting = {});

// Returns the point of a request with an id: the same in every process and release (FNV-1a of model, a zero byte and
// id, then the finaliser of SplitMix64), so that replicas agree and a restart moves no id to another version.
uint64_t PointOfId(std::string_view model, std::string_view request_id);
// Returns the point of the n-th request without an id. Multiples of the golden ratio: any run of requests is divided
// nearly exactly as the shares say.
uint64_t PointOfCount(uint64_t n);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_SETTINGS_TRAFFIC_H_
