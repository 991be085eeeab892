// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_EVALUATE_H_
#define VITRINE_TRAINER_EVALUATE_H_

#include <atomic>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "common/imaging/decode_planned.h"
#include "common/imaging/geometry.h"
#include "models/reference/model.h"
#include "trainer/task.h"

namespace vitrine {

// Accuracy of a model on one split at one size.
struct Accuracy {
  std::optional<Size> size;  // nullopt: each image's native size, by the model's resolution policy
  int64_t images = 0;
  int64_t correct = 0;
  double loss = 0;  // mean cross entropy, without label smoothing
  double top1() const { return images == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(images); }
};

// Plans the resize of an image: scales it to cover `size` / `crop`, then crops the centre. Without a size, uses the
// model's resolution policy and ignores `crop`.
absl::StatusOr<Geometry> PlanEvaluation(const v1::Preprocessing& preprocessing, Size image, std::optional<Size> size,
                                        double crop = 1);

// Reads image `index`, decodes it as `preprocessing` requires, and plans its resize with PlanEvaluation.
absl::StatusOr<PlannedImage> ReadForEvaluation(const Dataset& data, int64_t index,
                                               const v1::Preprocessing& preprocessing, std::optional<Size> size,
                                               double crop = 1);

struct EvaluateOptions {
  int batch = 250;                          // images per forward pass
  double crop = 1;                          // share of each side that the crop keeps; see Recipe.evaluation_crop
  int threads = 1;                          // parallel forward passes, one core each
  const std::atomic<bool>* stop = nullptr;  // if set to true, the call stops with CANCELLED
  std::vector<int>* predicted = nullptr;    // filled with the predicted class of each image
  // Filled with [images, width] fp32: for each image, the first of the model's features that is a vector.
  at::Tensor* features = nullptr;
  MeasureProgress progress = nullptr;  // called with numbers of images
};

// Evaluates the reference model on the whole data set; the number of threads does not change the result.
// INVALID_ARGUMENT if the model cannot accept the size or, for options.features, has no vector feature.
absl::StatusOr<Accuracy> Evaluate(const Model& model, const Dataset& data, std::optional<Size> size,
                                  const EvaluateOptions& options = {});

}  // namespace vitrine

#endif  // VITRINE_TRAINER_EVALUATE_H_
