// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_ROLLING_PRUNE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_ROLLING_PRUNE_H_

#include <cstddef>
#include <iterator>

namespace vitrine {

// Erases idle entries of an ordered map, two per call in rotation, so that no call under a lock has to visit all. Every
// entry was visited by the time that a map has grown by half. A small map is not pruned: data of an idle caller may
// still be useful. Not thread-safe.
template <typename Map>
class RollingPrune {
 public:
  // Visits the next two entries and erases the idle ones. O(log n).
  template <typename IsIdle>
  void Step(Map& map, IsIdle is_idle) {
    if (map.size() <= kFew) return;
    auto entry = map.upper_bound(last_);
    for (int looks = 0; looks < 2; ++looks) {
      if (entry == map.end()) entry = map.begin();
      if (entry == map.end()) return;
      last_ = entry->first;
      entry = is_idle(*entry) ? map.erase(entry) : std::next(entry);
    }
  }

 private:
  static constexpr size_t kFew = 64;

  typename Map::key_type last_ = {};
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_ROLLING_PRUNE_H_
