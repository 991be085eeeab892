// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_TOLERANT_H_
#define VITRINE_COMMON_DATA_TOLERANT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/data/dataset.h"

namespace vitrine {

// Counts the images of each class. Reads no image.
std::vector<int64_t> ImagesPerClass(const Dataset& data);

// Collects unreadable and undecodable images, each once. One object may serve several sets that share files. Not
// thread-safe.
class CorruptImages {
 public:
  // Returns true if an error of image() is caused by the image itself, not by a disk failure.
  static bool IsCorrupt(const absl::Status& reason) {
    return absl::IsInvalidArgument(reason) || absl::IsNotFound(reason) || absl::IsPermissionDenied(reason);
  }

  // Adds the error of an image. The text of `reason` names the file; an error with the same text is added only once.
  void Add(const absl::Status& reason);

  // Adds the classes that had images in the training split but have none in `kept`; `before` is ImagesPerClass of the
  // whole training split.
  void AddLostClasses(const std::vector<int64_t>& before, const Dataset& kept);

  // Returns the errors in the order in which Add received them.
  const std::vector<std::string>& reasons() const { return reasons_; }

  // Returns DATA_LOSS, with all errors, if there are more than `limit` errors or if a class lost all its images.
  // `limit` is a recipe's corrupt_limit; nullopt allows no error.
  absl::Status Judge(std::optional<int64_t> limit) const;

 private:
  std::vector<std::string> reasons_, lost_classes_;
  std::set<std::string> known_;
};

// Returns the set without its corrupt images, in the same order; the result may be empty. Decodes every image now, on
// `threads` threads, and discards the pixels (use CacheInMemory to keep the pixels). Corrupt images are added to
// `corrupt`, in the order of the set.
absl::StatusOr<std::unique_ptr<Dataset>> LeaveOutCorrupt(std::unique_ptr<Dataset> dataset, int threads,
                                                         CorruptImages& corrupt);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_TOLERANT_H_
