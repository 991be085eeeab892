// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_TRAFFIC_H_
#define VITRINE_SERVER_MODELS_REGISTRY_TRAFFIC_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/models/registry/serving_settings.h"

namespace vitrine {

// Which version of a model a request meets that does not name one. Made anew whenever versions or settings change.
//
// A request falls on a point of [0, 2^64). The versions with a share divide the line from 0 in the order of the
// settings and `stable` has the rest: a share that grows keeps the requests that it had, if it is the first.
struct TrafficTable {
  struct Part {
    uint64_t end = 0;  // of its points, exclusive
    int64_t version = 0;
    double percent = 0;
  };
  int64_t stable = 0;                                  // 0: no version is READY
  std::vector<Part> parts;                             // READY versions with a share, ends rising
  bool whole = false;                                  // the last part goes to the end of the line
  std::map<std::string, int64_t, std::less<>> labels;  // of READY versions, `stable` and `canary` as they came out

  int64_t Choose(uint64_t point) const;
  double PercentOf(int64_t version) const;  // of the requests that name neither version nor label
};

// `ready`: the versions that are READY. `waiting`: those of them that are not `stable` but where they are labelled so,
// or nobody else can be. Pure.
TrafficTable MakeTrafficTable(const ModelPlan& plan, const std::set<int64_t>& ready,
                              const std::set<int64_t>& waiting = {});

// The point of a request with an id: the same in every process, for ever (FNV-1a of model, a zero byte and id, then the
// finaliser of SplitMix64), so that replicas agree and a restart moves nobody.
uint64_t PointOfId(std::string_view model, std::string_view request_id);
// The point of the n-th request without an id. Multiples of the golden ratio: any run of them is divided as the shares
// say, but for a handful.
uint64_t PointOfCount(uint64_t n);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_TRAFFIC_H_
