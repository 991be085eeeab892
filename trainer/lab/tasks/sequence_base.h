// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_SEQUENCE_BASE_H_
#define VITRINE_TRAINER_LAB_TASKS_SEQUENCE_BASE_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "trainer/lab/tasks/bleu.h"
#include "trainer/sampler.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Purpose of random numbers. Each purpose has its own stream of numbers, separate from the trainer's streams.
enum class Stream { kDigits, kSplit, kClusters, kSets, kValidationSets, kTestSets, kWindows };

// Returns the random numbers of a sample in an epoch. Data that are equal in every epoch are drawn with a fixed
// `epoch`.
CounterRandom RandomFor(uint64_t seed, Stream stream, int64_t epoch, int64_t sample);

// Seed of data that are equal in all runs, such as a test set. It does not depend on the recipe's seed.
constexpr uint64_t kMeasuredSeed = 42;

// Parsed value of --data.
struct DataPlace {
  std::string kind;   // one of the allowed kinds
  std::string where;  // folder, file, or generator
};

// Parses the value of --data; see MakeSequenceTask. NOT_FOUND if `data` is empty; the message has recipe.data.origin.
// INVALID_ARGUMENT if the kind is not in `kinds`.
absl::StatusOr<DataPlace> FindData(const v1::Recipe& recipe, const std::string& data,
                                   std::initializer_list<std::string_view> kinds);
// Returns INVALID_ARGUMENT unless `data` is empty or equals `generated`, for instance "generated:digits".
absl::Status CheckGenerated(const v1::Recipe& recipe, const std::string& data, std::string_view generated);
// Returns INVALID_ARGUMENT if `value` is not within `low` to `high`: "recipe "NAME": FIELD is VALUE; allowed: RANGE".
absl::Status CheckField(const v1::Recipe& recipe, std::string_view field, double value, double low, double high);

// Sums over the measured samples.
struct MeasureSums {
  double loss = 0;  // sum of the losses of all predictions
  int64_t correct = 0;
  int64_t predictions = 0;
  BleuCounts bleu = {};
};

// Base of all sequence tasks. The model is from the sequence zoo. An epoch has every training sample once, in an order
// drawn from the seed. The loss is a mean over predictions. Immutable after construction.
class SequenceTask : public Task {
 public:
  absl::StatusOr<std::unique_ptr<Module>> MakeModel() const override;
  std::string samples_in_words() const override { return "sequences"; }
  int64_t samples() const override { return samples_; }
  const std::string& data_digest() const override { return digest_; }
  std::vector<Member> EpochMembers(int64_t epoch) const override;
  BatchLoss Loss(const Module& model, const TrainingBatch& batch, const ForwardContext& context) const override;
  absl::StatusOr<Score> MeasureOn(MeasuredSplit split, const Module& model,
                                  const MeasureOptions& options) const override;

 protected:
  // `digest` is the SHA-256 of the training data.
  SequenceTask(const v1::Recipe& recipe, v1::SequenceConfig config, int64_t samples, std::string digest);

  const v1::Recipe& recipe() const { return recipe_; }
  const v1::SequenceConfig& config() const { return config_; }
  // True if kValidation is a separate split. The task uses the data's validation split if there is one; otherwise, it
  // holds out the share recipe.validation_share of the training samples.
  bool validates() const { return recipe_.validation_share() > 0; }

  // Number of samples in a measured split.
  virtual int64_t MeasuredSamples(MeasuredSplit split) const = 0;
  // Returns samples first to last - 1 of a measured split. Every call returns the same samples.
  virtual absl::StatusOr<TrainingBatch> MeasuredBatch(MeasuredSplit split, int64_t first, int64_t last) const = 0;
  // Returns the mean loss per prediction, with label smoothing `smoothing`. Requires the batch on the model's device.
  virtual BatchLoss Compare(const SequenceModel& model, const TrainingBatch& batch, const ForwardContext& context,
                            double smoothing) const = 0;
  // Label smoothing in training.
  virtual double smoothing() const { return recipe_.label_smoothing(); }
  // Adds the counts that measures other than loss and accuracy need, for instance BLEU of decoded sentences, to the
  // sums.
  virtual absl::Status MeasureMore(const SequenceModel&, const TrainingBatch&, MeasureSums&) const {
    return absl::OkStatus();
  }
  virtual Score ScoreOf(const MeasureSums& sums) const = 0;

 private:
  absl::StatusOr<MeasureSums> MeasureSamples(MeasuredSplit split, const SequenceModel& model, int64_t first,
                                             int64_t last) const;

  const v1::Recipe recipe_;
  const v1::SequenceConfig config_;
  const int64_t samples_;
  const std::string digest_;
};

// Returns the mean cross entropy of logits [..., answers] and labels [...], and the number of correct predictions.
BatchLoss ElementLoss(const at::Tensor& logits, const at::Tensor& labels, double smoothing);

// Returns accuracy, then loss; if `loss_first`, loss, then accuracy.
Score AccuracyAndLoss(const MeasureSums& sums, bool loss_first);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_SEQUENCE_BASE_H_
