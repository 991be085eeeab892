// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_EXAMINE_H_
#define VITRINE_TRAINER_WATCH_EXAMINE_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "imaging/geometry.h"
#include "reference/model.h"
#include "report/calibration.h"
#include "report/confusion.h"

namespace vitrine {

// A picture on its way into a model.
struct InputPicture {
  Image picture;
  Geometry geometry;  // its original is `picture`, which may have been decoded reduced
  at::Tensor input;   // [channels, height, width] fp32
  Grid grid;
};

// As the test split is measured: at `size`, or at the picture's own under the model's resolution policy.
absl::StatusOr<InputPicture> ReadInput(const Model& model, const Dataset& data, int64_t index,
                                       std::optional<Size> size);

// What a model said of one picture.
struct Answer {
  int64_t index = 0;  // of the picture in its data set
  int label = 0;
  int answer = 0;
  double confidence = 0;         // probability of the answer
  double label_probability = 0;  // and of the right one
};

struct Examination {
  int64_t pictures = 0;    // examined
  int64_t unreadable = 0;  // left out, since they cannot be decoded
  Confusion confusion{0};
  Calibration calibration;
  double loss = 0;                     // mean cross entropy
  std::vector<Answer> mistakes = {};   // wrong ones, surest first, as many as asked for
  std::vector<int64_t> examples = {};  // a picture of each of the first classes, as many as asked for
};

// Up to `most` of `size` indices, rising: one drawn from each of equal parts, so that neither the order of a set nor a
// rhythm in it decides. Always the same ones.
std::vector<int64_t> Spread(int64_t size, int64_t most);

struct ExamineOptions {
  std::optional<Size> size = std::nullopt;
  int64_t most_pictures = 10000;  // of a larger set, those of Spread
  int mistakes = 12;
  int examples = 6;
  int batch = 100;
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // becomes true when the examination shall end, with CANCELLED
};

// Asks the model about pictures of a labelled set. The result does not depend on the threads. INVALID_ARGUMENT: the set
// is empty, has other classes than the model, or sizes that it cannot take.
absl::StatusOr<Examination> Examine(const Model& model, const Dataset& data, const ExamineOptions& options);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_EXAMINE_H_
