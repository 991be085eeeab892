// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluate.h"

#include <ATen/Parallel.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/imaging/header.h"
#include "common/imaging/preprocess.h"
#include "common/status_macros.h"
#include "models/features.h"
#include "models/token_tap.h"
#include "trainer/optimise/loss.h"

namespace vitrine {
namespace {

struct EvaluationBatch {
  ImageBatch images;
  at::Tensor labels;
  std::vector<int64_t> indices;  // image indices in the data set
};

absl::StatusOr<EvaluationBatch> ReadBatch(const Model& model, const Dataset& data, std::optional<Size> size,
                                          double crop, int64_t first, int64_t last) {
  const v1::Preprocessing& preprocessing = model.config().preprocessing();
  EvaluationBatch batch;
  std::vector<std::pair<Size, int64_t>> order;
  std::vector<at::Tensor> inputs;
  for (int64_t i = first; i < last; ++i) {
    ASSIGN_OR_RETURN(const PlannedImage image, ReadForEvaluation(data, i, preprocessing, size, crop));
    const Geometry& geometry = image.geometry;
    RETURN_IF_ERROR(model.GridFor(geometry.input.height, geometry.input.width).status());
    const std::vector<float> values = Preprocess(image.image, preprocessing, geometry);
    inputs.push_back(at::empty({preprocessing.channels(), geometry.input.height, geometry.input.width}, at::kFloat));
    std::copy(values.begin(), values.end(), inputs.back().mutable_data_ptr<float>());
    order.push_back({geometry.input, i});
  }
  // Sorts by size, because the model computes adjacent images of equal size together.
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.height, a.first.width) < std::pair(b.first.height, b.first.width);
  });
  batch.labels = at::empty({last - first}, at::kLong);
  int64_t* label = batch.labels.mutable_data_ptr<int64_t>();
  for (const auto& [unused, index] : order) {
    batch.images.push_back(inputs[index - first]);
    batch.indices.push_back(index);
    *label++ = data.label(index);
  }
  return batch;
}

// Returns a request for the model's first feature that is a vector. INVALID_ARGUMENT if the model has no such feature.
absl::StatusOr<v1::FeatureRequest> VectorOf(const Model& model) {
  v1::FeatureRequest request;
  for (const v1::FeatureKind kind : model.features().kinds) {
    if (kind == v1::PATCH_TOKENS || kind == v1::REGISTER_TOKENS) continue;
    request.set_kind(kind);
    break;
  }
  return ResolveFeature(request, model.features());
}

// Copies the vector of each image of a batch to the image's row of `features`.
void TakeFeatures(const v1::FeatureRequest& request, const TokenTap& tokens, const std::vector<int64_t>& indices,
                  at::Tensor& features) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::vector<float> values = CollectFeature(request, tokens, static_cast<int>(i)).values;
    std::ranges::copy(values, features.mutable_data_ptr<float>() + indices[i] * features.size(1));
  }
}

struct BatchScore {
  double loss_sum = 0;
  int64_t correct = 0;
};

absl::StatusOr<BatchScore> ScoreBatch(const Model& model, const Dataset& data, std::optional<Size> size,
                                      const EvaluateOptions& options, int64_t first, int64_t last) {
  ASSIGN_OR_RETURN(const EvaluationBatch inputs, ReadBatch(model, data, size, options.crop, first, last));
  TokenTap tokens;
  v1::FeatureRequest vector;
  if (options.features != nullptr) {
    ASSIGN_OR_RETURN(vector, VectorOf(model));
    tokens.Request(StageOf(vector.kind()));
  }
  ASSIGN_OR_RETURN(const at::Tensor logits, RunModel(model, inputs.images, /*tap=*/nullptr, &tokens));
  if (options.features != nullptr) TakeFeatures(vector, tokens, inputs.indices, *options.features);
  if (options.predicted != nullptr) {
    const at::Tensor classes = at::argmax(logits, 1);
    const int64_t* best = classes.const_data_ptr<int64_t>();
    for (const int64_t index : inputs.indices)
      (*options.predicted)[static_cast<size_t>(index)] = static_cast<int>(*best++);
  }
  const double loss = ClassificationLoss(logits, inputs.labels, 0).item<double>();
  return BatchScore{.loss_sum = loss * static_cast<double>(last - first),
                    .correct = CountCorrect(logits, inputs.labels)};
}

}  // namespace

absl::StatusOr<Geometry> PlanEvaluation(const v1::Preprocessing& preprocessing, Size image, std::optional<Size> size,
                                        double crop) {
  if (!size) return PlanGeometry(preprocessing, image);
  const double scale =
      std::max(std::floor(size->height / crop) / image.height, std::floor(size->width / crop) / image.width);
  Geometry geometry{.original = image, .scaled = *size, .top = 0, .left = 0, .input = *size};
  geometry.scaled.height = std::max<int>(size->height, std::lround(image.height * scale));
  geometry.scaled.width = std::max<int>(size->width, std::lround(image.width * scale));
  geometry.top = (geometry.scaled.height - size->height) / 2;
  geometry.left = (geometry.scaled.width - size->width) / 2;
  return geometry;
}

namespace {

// Reads the size from the file's header, plans the resize, and decodes at the resolution that the plan needs, like the
// server.
absl::StatusOr<PlannedImage> ReadReduced(const Dataset& data, int64_t index, const v1::Preprocessing& preprocessing,
                                         std::optional<Size> size, double crop) {
  PlannedImage image;
  ASSIGN_OR_RETURN(const std::string bytes, data.encoded(index));
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(bytes));
  ASSIGN_OR_RETURN(image.geometry, PlanEvaluation(preprocessing, {header.height, header.width}, size, crop));
  ASSIGN_OR_RETURN(image.image, DecodePlanned(bytes, preprocessing, image.geometry));
  return image;
}

}  // namespace

absl::StatusOr<PlannedImage> ReadForEvaluation(const Dataset& data, int64_t index,
                                               const v1::Preprocessing& preprocessing, std::optional<Size> size,
                                               double crop) {
  PlannedImage image;
  if (preprocessing.decode() == v1::Preprocessing::REDUCED) {
    absl::StatusOr<PlannedImage> reduced = ReadReduced(data, index, preprocessing, size, crop);
    if (reduced.ok()) return reduced;
    // If ReadReduced fails, the calls below read the image again. If the image is corrupt, the data set then replaces
    // it or returns an error.
  }
  ASSIGN_OR_RETURN(image.image, data.image(index));
  ASSIGN_OR_RETURN(image.geometry, PlanEvaluation(preprocessing, {image.image.height, image.image.width}, size, crop));
  return image;
}

absl::StatusOr<Accuracy> Evaluate(const Model& model, const Dataset& data, std::optional<Size> size,
                                  const EvaluateOptions& options) {
  const int64_t batches = (data.size() + options.batch - 1) / options.batch;
  std::vector<absl::StatusOr<BatchScore>> scores(batches, absl::CancelledError("the evaluation was interrupted"));
  std::atomic<int64_t> next = 0, done = 0;
  if (options.features != nullptr) {
    ASSIGN_OR_RETURN(const v1::FeatureRequest vector, VectorOf(model));
    const int64_t width = ValuesOf(vector, model.features(), {.rows = 1, .columns = 1});  // a vector needs no grid
    *options.features = at::empty({data.size(), width}, at::kFloat);
  }
  if (options.predicted != nullptr) options.predicted->assign(static_cast<size_t>(data.size()), -1);
  const auto work = [&](const MeasureProgress& progress) {
    at::init_num_threads();  // each thread must set LibTorch's number of threads for itself
    for (int64_t i; (i = next++) < batches && !(options.stop != nullptr && *options.stop);) {
      const int64_t first = i * options.batch;
      const int64_t last = std::min<int64_t>(data.size(), first + options.batch);
      scores[i] = ScoreBatch(model, data, size, options, first, last);
      if (!scores[i].ok()) next = batches;
      done += last - first;
      if (progress) progress(done, data.size());
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work, nullptr);
  work(options.progress);
  for (std::thread& thread : threads) thread.join();

  Accuracy accuracy{.size = size};
  for (const absl::StatusOr<BatchScore>& score : scores) {
    // Returns the error of the batch that failed, not CANCELLED of the batches that were skipped after the failure.
    if (!score.ok() && !absl::IsCancelled(score.status())) return score.status();
  }
  for (const absl::StatusOr<BatchScore>& score : scores) {
    if (!score.ok()) return score.status();
    accuracy.correct += score->correct;
    accuracy.loss += score->loss_sum;
  }
  accuracy.images = data.size();
  accuracy.loss /= static_cast<double>(std::max<int64_t>(1, data.size()));
  return accuracy;
}

}  // namespace vitrine
