// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TABLE_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace vitrine {

// Index of a caller in a CallerTable, valid until Prune erases the caller.
using CallerId = uint32_t;
inline constexpr CallerId kNoCaller = std::numeric_limits<CallerId>::max();

// Table with data of each caller. A request finds its caller by name when it arrives; later steps use the index.
// Indices of erased callers are reused, so the memory depends on the largest number of callers at one time. Not
// thread-safe.
template <typename Data>
class CallerTable {
 public:
  // Returns kNoCaller if the table does not contain the caller.
  CallerId Find(const std::string& name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? kNoCaller : found->second;
  }
  // Returns the caller's index. Adds the caller if the table does not contain it.
  CallerId Enter(const std::string& name) {
    const auto [found, is_new] = ids_.try_emplace(name, static_cast<CallerId>(entries_.size()));
    if (!is_new) return found->second;
    if (free_.empty()) {
      entries_.emplace_back();
    } else {
      found->second = free_.back();
      free_.pop_back();
    }
    entries_[found->second].emplace().name = name;
    return found->second;
  }

  Data& operator[](CallerId id) { return entries_[id]->data; }
  const Data& operator[](CallerId id) const { return entries_[id]->data; }
  size_t size() const { return ids_.size(); }

  // Visits only the next two entries in rotation, so that a call under a lock stays short, and erases those for which
  // `is_idle(id, data)` is true. If Prune is called for each added caller, it visits every entry before the table
  // doubles. A small table is not pruned, because idle data may still be useful. References to the data of entries that
  // are not erased stay valid.
  template <typename IsIdle>
  void Prune(IsIdle is_idle) {
    if (size() <= kFew) return;
    for (int looks = 0; looks < 2; ++looks) {
      next_ = (next_ + 1) % static_cast<CallerId>(entries_.size());
      std::optional<Entry>& entry = entries_[next_];
      if (!entry.has_value() || !is_idle(next_, entry->data)) continue;
      ids_.erase(entry->name);
      entry.reset();
      free_.push_back(next_);
    }
  }

 private:
  static constexpr size_t kFew = 64;
  struct Entry {
    Data data = {};
    std::string name;
  };

  absl::flat_hash_map<std::string, CallerId> ids_;
  std::vector<std::optional<Entry>> entries_;  // data of each caller by index; empty: not in use
  std::vector<CallerId> free_;                 // indices of empty entries
  CallerId next_ = 0;                          // entry that Prune visited last
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_CALLER_TABLE_H_
