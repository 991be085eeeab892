// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_PAIRED_ANSWERS_H_
#define VITRINE_SERVER_REGISTRY_VERSION_PAIRED_ANSWERS_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "common/mutex.h"

namespace vitrine {

struct LoadedModel;

// Comparison of the answers of a canary and of the other version, `stable`, to the same images.
struct PairCounts {
  int64_t images = 0;     // number of images on which the other version was sure
  int64_t different = 0;  // number of these images on which the first classes differ

  friend PairCounts operator-(const PairCounts& later, const PairCounts& earlier) {
    return {later.images - earlier.images, later.different - earlier.different};
  }
};

// Selects, at intervals, an image that was answered by a canary and that the stable version then computes too. Counts
// the images for which the two answers differ. This detects two classes that were exchanged; counts of the answered
// classes cannot detect such an error. Thread-safe.
class PairedAnswers {
 public:
  // Minimum confidence of the other version for an image to count; below this confidence, even two good versions often
  // give different classes.
  static constexpr double kSure = 0.7;
  // Minimum pause between two images, and minimum ratio of the pause to the compute time of the last image. The ratio
  // limits the comparisons to a twentieth of one executor's time.
  static constexpr absl::Duration kLeastPause = absl::Milliseconds(200);
  static constexpr int kPausePerTime = 20;

  // Sets the version with which the canary is compared from now on; an expired pointer ends the comparisons. Classes
  // and preprocessing of `other` must equal the canary's.
  void CompareWith(const std::weak_ptr<const LoadedModel>& other);
  // Returns the other version if it should compute an image now; null otherwise.
  std::shared_ptr<const LoadedModel> Due(absl::Time now);
  // Records an image that both versions have computed. `is_sure`: the other version's confidence is at least kSure.
  // `is_same`: the first classes are equal. The other version computed for `spent` and finished at `now`.
  void Add(bool is_sure, bool is_same, absl::Duration spent, absl::Time now);
  PairCounts Read() const;

 private:
  mutable Mutex mutex_;
  std::weak_ptr<const LoadedModel> other_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  PairCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_PAIRED_ANSWERS_H_
