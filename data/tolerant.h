// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_TOLERANT_H_
#define VITRINE_DATA_TOLERANT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "data/dataset.h"

namespace vitrine {

// Counts pictures that cannot be decoded, up to a limit; one object may serve several sets. Thread-safe.
class CorruptPictures {
 public:
  // Called once per picture, by one thread at a time; may not call this object. `reason` names the file.
  using Report = std::function<void(const std::string& name, const absl::Status& reason)>;

  // `limit` pictures, 0 or more, are tolerated.
  explicit CorruptPictures(int64_t limit, Report report = nullptr) : limit_(limit), report_(std::move(report)) {}

  // Whether what image() returned tells of a corrupt picture. A failing disk or a missing file is never tolerated.
  static bool IsCorrupt(const absl::Status& reason) { return absl::IsInvalidArgument(reason); }

  // OK while at most `limit` pictures were added; then DATA_LOSS, which names the first ones and the limit.
  absl::Status Add(const std::string& name, const absl::Status& reason);

  int64_t limit() const { return limit_; }
  int64_t count() const;
  std::vector<std::string> names() const;  // in the order in which they were added

 private:
  const int64_t limit_;
  const Report report_;
  mutable absl::Mutex mutex_;
  std::vector<std::string> names_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> first_reasons_ ABSL_GUARDED_BY(mutex_);
};

// The set without its corrupt pictures, in the same order. Every picture is decoded now, by `threads` threads, and not
// kept; CacheInMemory does the same and keeps them. The corrupt ones are added to `corrupt` in their order, so its
// report and its error do not depend on `threads`. DATA_LOSS over the limit, or if no picture is left.
absl::StatusOr<std::unique_ptr<Dataset>> LeaveOutCorrupt(std::unique_ptr<Dataset> dataset, int threads,
                                                         CorruptPictures& corrupt);

// The set with the same size, labels and names, in which a corrupt picture appears as the next picture of its class
// that can be decoded (cyclically, in the order of the set), always the same one. For training splits that are too
// large to decode beforehand; an accuracy measured on it would be wrong. Corrupt pictures are added to `corrupt` once,
// when they are met. image() returns DATA_LOSS over the limit, or if no picture of the class can be decoded; encoded()
// gives the picture's own bytes, corrupt or not. A picture that is not corrupt costs nothing more and takes no lock.
std::unique_ptr<Dataset> ReplaceCorrupt(std::unique_ptr<Dataset> dataset, std::shared_ptr<CorruptPictures> corrupt);

}  // namespace vitrine

#endif  // VITRINE_DATA_TOLERANT_H_
