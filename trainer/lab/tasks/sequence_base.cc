// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/sequence_base.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/parallel.h"
#include "common/status_macros.h"
#include "trainer/optimise/loss.h"

namespace vitrine {
namespace {

// Sequences per forward pass in measurements.
constexpr int64_t kMeasuredBatch = 100;

TrainingBatch MoveTo(TrainingBatch batch, const at::Device& device) {
  for (at::Tensor* tensor : {&batch.sequences.source, &batch.sequences.target, &batch.labels, &batch.targets}) {
    if (tensor->defined()) *tensor = tensor->to(device);
  }
  return batch;
}

at::Device DeviceOf(const Module& model) {
  return model.Parameters().front().tensor.device();
}

}  // namespace

CounterRandom RandomFor(uint64_t seed, Stream stream, int64_t epoch, int64_t sample) {
  // Bit 63 separates these streams from the training loop's streams, whose ids are epoch numbers and batch numbers.
  return CounterRandom(seed, uint64_t{1} << 63 | static_cast<uint64_t>(stream) << 48 | epoch, sample);
}

absl::StatusOr<DataPlace> FindData(const v1::Recipe& recipe, const std::string& data,
                                   std::initializer_list<std::string_view> kinds) {
  if (data.empty()) {
    return absl::NotFoundError(absl::StrCat("recipe \"", recipe.name(), "\" needs --data ", recipe.data().hint(),
                                            recipe.data().origin().empty() ? "" : ". ", recipe.data().origin()));
  }
  const auto known = [&](std::string_view kind) { return std::count(kinds.begin(), kinds.end(), kind) > 0; };
  if (const size_t colon = data.find(':'); colon != std::string::npos && known(data.substr(0, colon))) {
    if (colon + 1 < data.size()) return DataPlace{data.substr(0, colon), data.substr(colon + 1)};
  } else if (known(recipe.data().format())) {
    return DataPlace{recipe.data().format(), data};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--data \"", data, "\" is not a data source of recipe \"", recipe.name(), "\"; write KIND:WHERE, the kinds are ",
      absl::StrJoin(kinds, ", ", [](std::string* out, std::string_view kind) { out->append(kind); })));
}

absl::Status CheckGenerated(const v1::Recipe& recipe, const std::string& data, std::string_view generated) {
  if (data.empty() || data == generated) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--data is \"", data, "\", but recipe \"", recipe.name(),
                                                 "\" generates its data; leave it out, or write ",
                                                 std::string(generated)));
}

absl::Status CheckField(const v1::Recipe& recipe, std::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": ", std::string(field), " is ", value,
                                                 "; allowed: ", low, " to ", high));
}

SequenceTask::SequenceTask(const v1::Recipe& recipe, v1::SequenceConfig config, int64_t samples, std::string digest)
    : recipe_(recipe), config_(std::move(config)), samples_(samples), digest_(std::move(digest)) {}

absl::StatusOr<std::unique_ptr<Module>> SequenceTask::MakeModel() const {
  ASSIGN_OR_RETURN(std::unique_ptr<SequenceModel> model, MakeSequenceModel(config_, recipe_.seed()));
  return model;
}

std::vector<Member> SequenceTask::EpochMembers(int64_t epoch) const {
  std::vector<Member> members;
  members.reserve(samples_);
  for (const int64_t sample : EpochOrder(recipe_.seed(), epoch, samples_)) members.push_back({.sample = sample});
  return members;
}

BatchLoss SequenceTask::Loss(const Module& model, const TrainingBatch& batch, const ForwardContext& context) const {
  return Compare(static_cast<const SequenceModel&>(model), MoveTo(batch, DeviceOf(model)), context, smoothing());
}

absl::StatusOr<MeasureSums> SequenceTask::MeasureSamples(MeasuredSplit split, const SequenceModel& model, int64_t first,
                                                         int64_t last) const {
  try {
    const at::NoGradGuard no_grad;
    ASSIGN_OR_RETURN(TrainingBatch batch, MeasuredBatch(split, first, last));
    batch = MoveTo(std::move(batch), DeviceOf(model));
    const BatchLoss loss = Compare(model, batch, {}, /*smoothing=*/0);
    MeasureSums sums{.loss = loss.loss.item<double>() * static_cast<double>(loss.predictions),
                     .correct = loss.correct,
                     .predictions = loss.predictions};
    RETURN_IF_ERROR(MeasureMore(model, batch, sums));
    return sums;
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("measuring failed: ", error.what()));
  }
}

absl::StatusOr<Score> SequenceTask::MeasureOn(MeasuredSplit split, const Module& model,
                                              const MeasureOptions& options) const {
  const auto& sequence_model = static_cast<const SequenceModel&>(model);
  const int64_t samples = MeasuredSamples(split);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int64_t> done = 0;
  std::vector<MeasureSums> parts((samples + kMeasuredBatch - 1) / kMeasuredBatch);
  RETURN_IF_ERROR(ParallelFor(static_cast<int64_t>(parts.size()), options.threads, [&](int64_t i) {
    if (options.stop != nullptr && *options.stop) return absl::CancelledError("the measurement was interrupted");
    auto sums = MeasureSamples(split, sequence_model, i * kMeasuredBatch, std::min(samples, (i + 1) * kMeasuredBatch));
    if (sums.ok()) parts[i] = *sums;
    done += std::min(samples, (i + 1) * kMeasuredBatch) - i * kMeasuredBatch;
    if (options.progress && std::this_thread::get_id() == caller) options.progress(done, samples);
    return sums.status();
  }));
  MeasureSums total;
  for (const MeasureSums& part : parts) {
    total.loss += part.loss;
    total.correct += part.correct;
    total.predictions += part.predictions;
    total.bleu.Add(part.bleu);
  }
  Score score = ScoreOf(total);
  score.samples = samples;
  return score;
}

BatchLoss ElementLoss(const at::Tensor& logits, const at::Tensor& labels, double smoothing) {
  const at::Tensor rows = logits.reshape({-1, logits.size(-1)}), answers = labels.reshape({-1});
  return {.loss = ClassificationLoss(rows, answers, smoothing),
          .correct = CountCorrect(rows, answers),
          .predictions = answers.size(0)};
}

Score AccuracyAndLoss(const MeasureSums& sums, bool loss_first) {
  const double predictions = static_cast<double>(std::max<int64_t>(1, sums.predictions));
  Score score{
      .measures = {{"accuracy", static_cast<double>(sums.correct) / predictions}, {"loss", sums.loss / predictions}},
      .samples = 0,
      .larger_is_better = !loss_first};
  if (loss_first) std::swap(score.measures[0], score.measures[1]);
  return score;
}

}  // namespace vitrine
