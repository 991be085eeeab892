// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_SEQUENCE_BASE_H_
#define VITRINE_TRAINER_TASKS_SEQUENCE_BASE_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "trainer/sampler.h"
#include "trainer/task.h"
#include "trainer/tasks/bleu.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// What random numbers are for; no purpose shares its numbers with another, nor with the trainer's.
enum class Stream { kDigits, kSplit, kClusters, kSets, kValidationSets, kTestSets, kWindows };

// `epoch` is 0 for what stays the same in every epoch.
CounterRandom RandomFor(uint64_t seed, Stream stream, int64_t epoch, int64_t sample);

// The seed of what is measured, whatever the recipe's: scores of several seeds are those of one test.
constexpr uint64_t kMeasuredSeed = 42;

// Where --data points.
struct DataPlace {
  std::string kind;   // one of those that were asked for
  std::string where;  // folder, file, or what is generated
};

// Splits `data`; see MakeSequenceTask. NOT_FOUND with recipe.data.origin if it is empty, INVALID_ARGUMENT if its kind
// is none of `kinds`.
absl::StatusOr<DataPlace> FindData(const v1::Recipe& recipe, const std::string& data,
                                   std::initializer_list<std::string_view> kinds);
// Generated data: OK for nothing at all and for `generated`, for instance "generated:digits".
absl::Status CheckGenerated(const v1::Recipe& recipe, const std::string& data, std::string_view generated);
// "recipe "NAME": FIELD is VALUE; allowed is RANGE" unless it is `low` to `high`.
absl::Status CheckField(const v1::Recipe& recipe, std::string_view field, double value, double low, double high);

// Sums over measured samples.
struct MeasureSums {
  double loss = 0;  // over predictions
  int64_t correct = 0;
  int64_t predictions = 0;
  BleuCounts bleu = {};
};

// What all tasks on sequences have in common: a model of the sequence zoo, every training sample once an epoch in an
// order drawn from the seed, and a loss per prediction. Immutable after construction.
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
  // `digest` is the SHA-256 of what is trained on.
  SequenceTask(const v1::Recipe& recipe, v1::SequenceConfig config, int64_t samples, std::string digest);

  const v1::Recipe& recipe() const { return recipe_; }
  const v1::SequenceConfig& config() const { return config_; }
  // Whether kValidation is a split of its own. Tasks whose data have one already use that instead of holding out
  // recipe.validation_share.
  bool validates() const { return recipe_.validation_share() > 0; }

  // Samples of a measured split.
  virtual int64_t MeasuredSamples(MeasuredSplit split) const = 0;
  // The samples first to last - 1 of a measured split; the same at every call.
  virtual absl::StatusOr<TrainingBatch> MeasuredBatch(MeasuredSplit split, int64_t first, int64_t last) const = 0;
  // The mean loss per prediction; a share `smoothing` of each target is spread over the other answers. The batch is on
  // the model's device.
  virtual BatchLoss Compare(const SequenceModel& model, const TrainingBatch& batch, const ForwardContext& context,
                            double smoothing) const = 0;
  // Of the target while training.
  virtual double smoothing() const { return recipe_.label_smoothing(); }
  // What is measured beside the loss, for instance decoded sentences.
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

// Mean cross entropy of logits [..., answers] against labels [...], and how many are right.
BatchLoss ElementLoss(const at::Tensor& logits, const at::Tensor& labels, double smoothing);

// Accuracy first, then the loss; the other way round where `loss_first`.
Score AccuracyAndLoss(const MeasureSums& sums, bool loss_first);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_SEQUENCE_BASE_H_
