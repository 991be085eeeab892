// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/report/examine.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/imaging/preprocess.h"
#include "common/status_macros.h"
#include "trainer/evaluate.h"
#include "trainer/sampler.h"

namespace vitrine {
namespace {

absl::StatusOr<InputImage> PrepareInput(const Model& model, PlannedImage image) {
  const v1::Preprocessing& preprocessing = model.config().preprocessing();
  InputImage input{.image = std::move(image.image), .geometry = image.geometry, .input = {}, .grid = {}};
  const Size sides = input.geometry.input;
  ASSIGN_OR_RETURN(input.grid, model.GridFor(sides.height, sides.width));
  const std::vector<float> values = Preprocess(input.image, preprocessing, input.geometry);
  input.input = at::empty({preprocessing.channels(), sides.height, sides.width}, at::kFloat);
  std::ranges::copy(values, input.input.mutable_data_ptr<float>());
  input.geometry.original = {input.image.height, input.image.width};
  return input;
}

struct BatchAnswers {
  std::vector<Answer> answers;
  int64_t unreadable = 0;
};

absl::StatusOr<BatchAnswers> Ask(const Model& model, const Dataset& data, const std::vector<int64_t>& indices,
                                 std::optional<Size> size) {
  BatchAnswers result;
  std::vector<std::tuple<int, int, int64_t, at::Tensor>> inputs;  // sorted by size: RunModel batches equal sizes
  for (const int64_t index : indices) {
    absl::StatusOr<PlannedImage> image = ReadForEvaluation(data, index, model.config().preprocessing(), size);
    if (!image.ok()) {
      ++result.unreadable;
      continue;
    }
    ASSIGN_OR_RETURN(InputImage input, PrepareInput(model, *std::move(image)));
    inputs.emplace_back(input.geometry.input.height, input.geometry.input.width, index, std::move(input.input));
  }
  if (inputs.empty()) return result;
  std::ranges::sort(inputs, {}, [](const auto& input) {
    return std::tuple(std::get<0>(input), std::get<1>(input), std::get<2>(input));
  });
  ImageBatch images;
  for (const auto& input : inputs) images.push_back(std::get<3>(input));
  ASSIGN_OR_RETURN(const at::Tensor logits, RunModel(model, images));
  const at::Tensor probabilities = at::softmax(logits.to(at::kDouble), 1).contiguous();
  const double* row = probabilities.const_data_ptr<double>();
  for (const auto& input : inputs) {
    const int label = data.label(std::get<2>(input));
    const int answer = static_cast<int>(std::max_element(row, row + probabilities.size(1)) - row);
    result.answers.push_back({std::get<2>(input), label, answer, row[answer], row[label]});
    row += probabilities.size(1);
  }
  return result;
}

std::vector<std::vector<int64_t>> Batches(int64_t size, const ExamineOptions& options) {
  std::vector<std::vector<int64_t>> batches;
  for (const int64_t index : Spread(size, options.most_images)) {
    if (batches.empty() || static_cast<int>(batches.back().size()) == options.batch) batches.emplace_back();
    batches.back().push_back(index);
  }
  return batches;
}

Examination Summary(const std::vector<absl::StatusOr<BatchAnswers>>& batches, int classes,
                    const ExamineOptions& options) {
  Examination result;
  result.confusion = Confusion(classes);
  std::set<int> shown;
  std::vector<Answer> answers;
  for (const absl::StatusOr<BatchAnswers>& batch : batches) {
    answers.insert(answers.end(), batch->answers.begin(), batch->answers.end());
    result.unreadable += batch->unreadable;
  }
  std::ranges::sort(answers, {}, &Answer::index);
  for (const Answer& answer : answers) {
    result.confusion.Add(answer.label, answer.answer);
    result.calibration.Add(answer.confidence, answer.label == answer.answer);
    result.loss -= std::log(std::max(answer.label_probability, 1e-300));
    if (answer.label != answer.answer) result.mistakes.push_back(answer);
    if (static_cast<int>(shown.size()) < options.examples && shown.insert(answer.label).second) {
      result.examples.push_back(answer.index);
    }
  }
  result.images = static_cast<int64_t>(answers.size());
  result.loss /= static_cast<double>(std::max<int64_t>(1, result.images));
  std::ranges::stable_sort(result.mistakes, std::greater(), &Answer::confidence);
  if (result.mistakes.size() > static_cast<size_t>(options.mistakes)) {
    result.mistakes.resize(static_cast<size_t>(options.mistakes));
  }
  return result;
}

}  // namespace

std::vector<int64_t> Spread(int64_t size, int64_t most) {
  const int64_t count = std::min(size, most);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = i * size / count, last = (i + 1) * size / count;
    indices.push_back(first + CounterRandom(0, 0, i).Below(last - first));
  }
  return indices;
}

absl::StatusOr<InputImage> ReadInput(const Model& model, const Dataset& data, int64_t index, std::optional<Size> size) {
  ASSIGN_OR_RETURN(PlannedImage image, ReadForEvaluation(data, index, model.config().preprocessing(), size));
  return PrepareInput(model, std::move(image));
}

absl::StatusOr<Examination> Examine(const Model& model, const Dataset& data, const ExamineOptions& options) {
  const int classes = model.config().classes();
  if (data.size() == 0 || static_cast<int>(data.labels().size()) != classes) {
    return absl::InvalidArgumentError(absl::StrCat("a set of ", data.size(), " images in ", data.labels().size(),
                                                   " classes cannot examine a model of ", classes));
  }
  const std::vector<std::vector<int64_t>> batches = Batches(data.size(), options);
  std::vector<absl::StatusOr<BatchAnswers>> answers(batches.size(),
                                                    absl::CancelledError("the examination was interrupted"));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    at::init_num_threads();  // each thread must set LibTorch's number of threads for itself
    for (size_t i; (i = next++) < batches.size() && !(options.stop != nullptr && *options.stop);) {
      answers[i] = Ask(model, data, batches[i], options.size);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (const absl::StatusOr<BatchAnswers>& batch : answers) RETURN_IF_ERROR(batch.status());
  return Summary(answers, classes, options);
}

}  // namespace vitrine
