// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_TOLERANT_H_
#define VITRINE_DATA_TOLERANT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// Collects the pictures that cannot be read or decoded, each once; one object may serve several sets, which may share
// files. Not thread-safe.
class CorruptPictures {
 public:
  // True if what image() returned tells of the picture and not of a failing disk.
  static bool IsCorrupt(const absl::Status& reason) {
    return absl::IsInvalidArgument(reason) || absl::IsNotFound(reason) || absl::IsPermissionDenied(reason);
  }

  // `reason` names the file; one that was added already is the same picture.
  void Add(const absl::Status& reason);

  // In the order in which they were added.
  const std::vector<std::string>& reasons() const { return reasons_; }

  // DATA_LOSS that lists all of them if they are more than `limit`, which corrupt_limit sets; nullopt: who asks takes
  // none and has no corrupt_limit.
  absl::Status Judge(std::optional<int64_t> limit) const;

 private:
  std::vector<std::string> reasons_;
  std::set<std::string> known_;
};

// The set without its corrupt pictures, in the same order, perhaps empty. Every picture is decoded now, by `threads`
// threads, and not kept; CacheInMemory does the same and keeps them. The corrupt ones are added to `corrupt` in their
// order.
absl::StatusOr<std::unique_ptr<Dataset>> LeaveOutCorrupt(std::unique_ptr<Dataset> dataset, int threads,
                                                         CorruptPictures& corrupt);

}  // namespace vitrine

#endif  // VITRINE_DATA_TOLERANT_H_
