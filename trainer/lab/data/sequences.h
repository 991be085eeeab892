// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_DATA_SEQUENCES_H_
#define VITRINE_TRAINER_LAB_DATA_SEQUENCES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// The KV transformer's tasks on sequences of digits.
enum class DigitTask {
  kReverse,  // x_{n-1-t}
  kSort,     // ascending
  kSwap,     // the second half, then the first half; split at floor(n / 2)
  kSub,      // 9 - x_t
  kCopy,     // x_t
};

// Parses "reverse", "sort", "swap", "sub" or "copy". NOT_FOUND lists these names.
absl::StatusOr<DigitTask> ParseDigitTask(std::string_view name);

// Returns the target, one digit per element.
std::vector<int> TargetOf(DigitTask task, std::span<const int> digits);

// Generator of uniform integers: Below(n) is in [0, n). The caller provides the generator, so that a run can be
// repeated.
using Below = std::function<int64_t(int64_t bound)>;

// A set of images. One image, the anomaly, has another class than all other images.
struct AnomalySet {
  std::vector<int64_t> images;  // indices into the data set
  int anomaly = 0;              // index of the anomaly in `images`
};

// Position of the anomaly in its set.
enum class AnomalyPlace {
  kRandom,
  // Always last, as in the published notebooks. A model with position encodings can then answer by position, so use
  // this only to reproduce published results.
  kLast,
};

// Draws the KV transformer's sets: `size - 1` different images of one class and one image of another class. Immutable
// after construction; thread-safe.
class AnomalySets {
 public:
  // `labels` holds the class of every image, from 0. INVALID_ARGUMENT if a label is negative, `size` is below 3 (in a
  // set of two, either could be the anomaly), there are fewer than two classes, or a class has fewer than size - 1
  // images.
  static absl::StatusOr<AnomalySets> Make(std::span<const int> labels, int size = 10,
                                          AnomalyPlace place = AnomalyPlace::kRandom);

  // Draws a set in which image `anomaly` is the anomaly. The class of the other images is uniform over the other
  // classes. An epoch draws one set per image.
  AnomalySet Draw(int64_t anomaly, const Below& below) const;

  int64_t images() const { return static_cast<int64_t>(labels_.size()); }

 private:
  AnomalySets(std::vector<int> labels, std::vector<std::vector<int64_t>> members, int size, AnomalyPlace place)
      : labels_(std::move(labels)), members_(std::move(members)), size_(size), place_(place) {}

  std::vector<int> labels_;
  std::vector<std::vector<int64_t>> members_;  // images of each class
  int size_;
  AnomalyPlace place_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_DATA_SEQUENCES_H_
