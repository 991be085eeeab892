// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_REPORT_EXAMINE_H_
#define VITRINE_TRAINER_WATCH_REPORT_EXAMINE_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/charts/calibration.h"
#include "common/charts/confusion.h"
#include "common/data/dataset.h"
#include "common/imaging/geometry.h"
#include "models/reference/model.h"

namespace vitrine {

// An image with its model input.
struct InputImage {
  Image image;
  Geometry geometry;  // plan for `image`, which may have been decoded at reduced size
  at::Tensor input;   // [channels, height, width] fp32
  Grid grid;
};

// Reads an image like Evaluate, at `size`; if `size` is nullopt, at the size that the preprocessing chooses.
absl::StatusOr<InputImage> ReadInput(const Model& model, const Dataset& data, int64_t index, std::optional<Size> size);

// A model's answer for one image.
struct Answer {
  int64_t index = 0;  // image index in its data set
  int label = 0;
  int answer = 0;
  double confidence = 0;         // probability of the answer
  double label_probability = 0;  // probability of the correct label
};

struct Examination {
  int64_t images = 0;      // number of examined images
  int64_t unreadable = 0;  // number of images left out because they cannot be decoded
  Confusion confusion{0};
  Calibration calibration;
  double loss = 0;                     // mean cross entropy
  std::vector<Answer> mistakes = {};   // wrong answers, highest confidence first, up to options.mistakes
  std::vector<int64_t> examples = {};  // image indices, each of another class, up to options.examples
};

// Divides the indices 0 to `size` - 1 into at most `most` equal ranges and returns a random index of each range, in
// ascending order. Random indices give an unbiased selection even if the order of the set is periodic. The seed is
// fixed.
std::vector<int64_t> Spread(int64_t size, int64_t most);

struct ExamineOptions {
  std::optional<Size> size = std::nullopt;
  int64_t most_images = 10000;  // maximum number of images; Spread selects them from a larger set
  int mistakes = 12;
  int examples = 6;
  int batch = 100;
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // if set to true, the call stops with CANCELLED
};

// Runs the model on images of a labelled set. The result does not depend on the number of threads. INVALID_ARGUMENT:
// the set is empty, has another number of classes than the model, or has images of a size that the model cannot accept.
absl::StatusOr<Examination> Examine(const Model& model, const Dataset& data, const ExamineOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_REPORT_EXAMINE_H_
