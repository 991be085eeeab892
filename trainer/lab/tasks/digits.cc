// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/digits.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "trainer/lab/data/sequences.h"
#include "trainer/lab/tasks/sequence_base.h"

namespace vitrine {
namespace {

constexpr int kDigits = 10;

// Split of the data. It is part of the key of the random numbers, so every split has its own random numbers.
enum class Part { kTrain, kValidation, kTest };

struct DigitSettings {
  DigitTask task = DigitTask::kCopy;
  int64_t length = 0;
  int64_t train = 0, validation = 0, test = 0;
};

class Digits : public SequenceTask {
 public:
  Digits(const v1::Recipe& recipe, const v1::SequenceConfig& config, const DigitSettings& settings, std::string digest)
      : SequenceTask(recipe, config, settings.train, std::move(digest)), settings_(settings) {}

  absl::StatusOr<TrainingBatch> MakeBatch(int64_t /*epoch*/, int64_t /*index*/,
                                          std::span<const Member> members) const override {
    std::vector<int64_t> samples;
    for (const Member& member : members) samples.push_back(member.sample);
    return Draw(Part::kTrain, samples);
  }

 protected:
  int64_t MeasuredSamples(MeasuredSplit split) const override {
    return PartOf(split) == Part::kTest ? settings_.test : settings_.validation;
  }
  absl::StatusOr<TrainingBatch> MeasuredBatch(MeasuredSplit split, int64_t first, int64_t last) const override {
    std::vector<int64_t> samples;
    for (int64_t i = first; i < last; ++i) samples.push_back(i);
    return Draw(PartOf(split), samples);
  }
  BatchLoss Compare(const SequenceModel& model, const TrainingBatch& batch, const ForwardContext& context,
                    double smoothing) const override {
    return ElementLoss(model.Forward(batch.sequences, context), batch.labels, smoothing);
  }
  Score ScoreOf(const MeasureSums& sums) const override { return AccuracyAndLoss(sums, /*loss_first=*/false); }

 private:
  Part PartOf(MeasuredSplit split) const {
    return split == MeasuredSplit::kValidation && validates() ? Part::kValidation : Part::kTest;
  }

  TrainingBatch Draw(Part part, const std::vector<int64_t>& samples) const {
    const int64_t count = static_cast<int64_t>(samples.size()), length = settings_.length;
    TrainingBatch batch;
    batch.samples = count;
    batch.sequences.source = at::zeros({count, length, kDigits}, at::kFloat);  // one-hot
    batch.labels = at::empty({count, length}, at::kLong);
    float* source = batch.sequences.source.mutable_data_ptr<float>();
    int64_t* label = batch.labels.mutable_data_ptr<int64_t>();
    std::vector<int> digits(length);
    for (const int64_t sample : samples) {
      CounterRandom random = RandomFor(part == Part::kTrain ? recipe().seed() : kMeasuredSeed, Stream::kDigits,
                                       static_cast<int64_t>(part), sample);
      for (int& digit : digits) {
        digit = static_cast<int>(random.Below(kDigits));
        source[digit] = 1;
        source += kDigits;
      }
      for (const int answer : TargetOf(settings_.task, digits)) *label++ = answer;
    }
    return batch;
  }

  const DigitSettings settings_;
};

int64_t CountOr(int64_t count, int64_t preset) {
  return count == 0 ? preset : count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Task>> MakeDigitTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                    const std::string& data) {
  RETURN_IF_ERROR(CheckGenerated(recipe, data, "generated:digits"));
  const v1::DigitExperiment& experiment = recipe.sequence().digits();
  const std::string name = absl::AsciiStrToLower(v1::DigitExperiment::Task_Name(experiment.task()));
  const auto task = ParseDigitTask(name);
  if (!task.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": sequence.digits.task is ",
                                                   experiment.task() == 0 ? "missing" : "unknown",
                                                   "; it must be REVERSE, SORT, SWAP, SUB or COPY"));
  }
  RETURN_IF_ERROR(CheckField(recipe, "sequence.digits.length", experiment.length(), 1, config.max_length()));
  const DigitSettings settings{.task = *task,
                               .length = experiment.length(),
                               .train = CountOr(experiment.train(), 50'000),
                               .validation = CountOr(experiment.validation(), 1'000),
                               .test = CountOr(experiment.test(), 10'000)};
  constexpr int64_t kMost = 1'000'000'000;
  RETURN_IF_ERROR(CheckField(recipe, "sequence.digits.train", settings.train, 1, kMost));
  RETURN_IF_ERROR(CheckField(recipe, "sequence.digits.validation", settings.validation, 1, kMost));
  RETURN_IF_ERROR(CheckField(recipe, "sequence.digits.test", settings.test, 1, kMost));
  if (config.features().width() != kDigits || SequenceOutputs(config) != kDigits) {
    return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": ", recipe.sequence().model(),
                                                   " does not read and predict one-hot digits of 10 values; use a ",
                                                   "row task-*"));
  }
  std::string digest =
      Sha256Hex(absl::StrCat("digits ", name, " ", settings.length, " ", settings.train, " seed ", recipe.seed()));
  return std::make_unique<Digits>(recipe, config, settings, std::move(digest));
}

}  // namespace vitrine
