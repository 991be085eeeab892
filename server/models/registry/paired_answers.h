// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_PAIRED_ANSWERS_H_
#define VITRINE_SERVER_MODELS_REGISTRY_PAIRED_ANSWERS_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "base/mutex.h"

namespace vitrine {

struct LoadedModel;

// Pictures that two versions have answered.
struct PairCounts {
  int64_t pictures = 0;   // of which the other version was sure
  int64_t different = 0;  // of them, those whose first classes were not the same

  friend PairCounts operator-(const PairCounts& later, const PairCounts& earlier) {
    return {later.pictures - earlier.pictures, later.different - earlier.different};
  }
};

// Now and then a picture that a canary has answered is computed by the stable version too, which shows what no count of
// classes can: that each class was taken for another. Thread-safe.
class PairedAnswers {
 public:
  // A picture of which the other version is less confident says nothing: good versions differ there.
  static constexpr double kSure = 0.7;
  // No more than a fifth of a second of pictures, and a twentieth of one executor's time.
  static constexpr absl::Duration kLeastPause = absl::Milliseconds(200);
  static constexpr int kPausePerTime = 20;

  // Which version computes pictures from now on; an expired one: none. Requires of it the same classes and
  // preprocessing.
  void CompareWith(const std::weak_ptr<const LoadedModel>& other);
  // The version that shall compute a picture now; null: none.
  std::shared_ptr<const LoadedModel> Due(absl::Time now);
  // Both have, and the other one took `spent` until `now`.
  void Add(bool is_sure, bool is_same, absl::Duration spent, absl::Time now);
  PairCounts Read() const;

 private:
  mutable Mutex mutex_;
  std::weak_ptr<const LoadedModel> other_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  PairCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_PAIRED_ANSWERS_H_
