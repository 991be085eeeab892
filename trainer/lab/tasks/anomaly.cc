// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/anomaly.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "trainer/lab/data/sequences.h"
#include "trainer/lab/tasks/features.h"
#include "trainer/lab/tasks/sequence_base.h"

namespace vitrine {
namespace {

// Vectors, and the sets that are drawn from them.
struct SetSource {
  at::Tensor features;  // [N, d]
  AnomalySets sets;
};

struct SetSplits {
  SetSource train;
  std::optional<SetSource> validation;
  SetSource test;
};

class Anomaly : public SequenceTask {
 public:
  Anomaly(const v1::Recipe& recipe, const v1::SequenceConfig& config, SetSplits splits, std::string digest)
      : SequenceTask(recipe, config, splits.train.sets.images(), std::move(digest)), splits_(std::move(splits)) {}

  std::string samples_in_words() const override { return "sets"; }
  absl::StatusOr<TrainingBatch> MakeBatch(int64_t epoch, int64_t /*index*/,
                                          std::span<const Member> members) const override {
    std::vector<AnomalySet> sets;
    for (const Member& member : members) {
      CounterRandom random = RandomFor(recipe().seed(), Stream::kSets, epoch, member.sample);
      sets.push_back(splits_.train.sets.Draw(member.sample, [&](int64_t bound) { return random.Below(bound); }));
    }
    return Gather(splits_.train, sets);
  }

 protected:
  int64_t MeasuredSamples(MeasuredSplit split) const override { return SourceOf(split).sets.images(); }
  absl::StatusOr<TrainingBatch> MeasuredBatch(MeasuredSplit split, int64_t first, int64_t last) const override {
    const SetSource& source = SourceOf(split);
    const Stream stream = &source == &splits_.test ? Stream::kTestSets : Stream::kValidationSets;
    std::vector<AnomalySet> sets;
    for (int64_t i = first; i < last; ++i) {
      CounterRandom random = RandomFor(kMeasuredSeed, stream, 0, i);
      sets.push_back(source.sets.Draw(i, [&](int64_t bound) { return random.Below(bound); }));
    }
    return Gather(source, sets);
  }
  BatchLoss Compare(const SequenceModel& model, const TrainingBatch& batch, const ForwardContext& context,
                    double smoothing) const override {
    // Removes the last dimension, [B, n, 1] -> [B, n], so that the loss treats the n elements of a set as n classes.
    return ElementLoss(model.Forward(batch.sequences, context).squeeze(-1), batch.labels, smoothing);
  }
  Score ScoreOf(const MeasureSums& sums) const override { return AccuracyAndLoss(sums, /*loss_first=*/false); }

 private:
  const SetSource& SourceOf(MeasuredSplit split) const {
    return split == MeasuredSplit::kValidation && splits_.validation ? *splits_.validation : splits_.test;
  }

  static TrainingBatch Gather(const SetSource& source, const std::vector<AnomalySet>& sets) {
    std::vector<int64_t> rows, labels;
    for (const AnomalySet& set : sets) {
      rows.insert(rows.end(), set.images.begin(), set.images.end());
      labels.push_back(set.anomaly);
    }
    TrainingBatch batch;
    batch.samples = static_cast<int64_t>(sets.size());
    batch.sequences.source =
        source.features.index_select(0, at::tensor(rows, at::kLong)).view({batch.samples, -1, source.features.size(1)});
    batch.labels = at::tensor(labels, at::kLong);
    return batch;
  }

  const SetSplits splits_;
};

absl::StatusOr<SetSource> MakeSource(const v1::Recipe& recipe, std::string_view split, const FeatureSet& set) {
  const v1::AnomalyExperiment& experiment = recipe.sequence().anomaly();
  const AnomalyPlace place = experiment.anomaly_last() ? AnomalyPlace::kLast : AnomalyPlace::kRandom;
  auto sets = AnomalySets::Make(set.labels, experiment.set_size() == 0 ? 10 : experiment.set_size(), place);
  if (sets.ok()) return SetSource{set.features, *std::move(sets)};
  return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": the ", std::string(split),
                                                 " split makes no sets: ", sets.status().message()));
}

std::string DigestOf(const FeatureSet& set) {
  const at::Tensor features = set.features.contiguous();
  std::string bytes(static_cast<const char*>(features.const_data_ptr()), features.nbytes());
  for (const int label : set.labels) absl::StrAppend(&bytes, label, "\n");
  return Sha256Hex(bytes);
}

absl::Status CheckModel(const v1::Recipe& recipe, const v1::SequenceConfig& config, int64_t width) {
  const int set_size = recipe.sequence().anomaly().set_size();
  RETURN_IF_ERROR(
      CheckField(recipe, "sequence.anomaly.set_size", set_size == 0 ? 10 : set_size, 3, config.max_length()));
  if (!config.has_features() || SequenceOutputs(config) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": ", recipe.sequence().model(),
                                                   " does not compute one logit per vector; use a row anomaly-*"));
  }
  if (config.features().width() == width) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "recipe \"", recipe.name(), "\": ", recipe.sequence().model(), " reads vectors of ", config.features().width(),
      " values, the data have ", width, "; --set sequence.model_overrides.features.width=", width));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Task>> MakeAnomalyTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                      const std::string& data) {
  ASSIGN_OR_RETURN(const DataPlace place, FindData(recipe, data, {"features", "generated"}));
  FeatureSplits splits;
  if (place.kind == "features") {
    ASSIGN_OR_RETURN(splits, ReadFeatureSplits(place.where));
  } else {
    RETURN_IF_ERROR(CheckGenerated(recipe, data, "generated:clusters"));
    splits = GeneratedClusters(config.features().width());
  }
  RETURN_IF_ERROR(CheckModel(recipe, config, splits.train.features.size(1)));
  FeatureSet train = std::move(splits.train);
  std::optional<SetSource> validation;
  if (recipe.validation_share() > 0) {
    auto [rest, held_out] = SplitByClass(train, recipe.validation_share(), recipe.seed());
    train = std::move(rest);
    ASSIGN_OR_RETURN(validation, MakeSource(recipe, "validation", held_out));
  }
  ASSIGN_OR_RETURN(SetSource train_source, MakeSource(recipe, "training", train));
  ASSIGN_OR_RETURN(SetSource test_source, MakeSource(recipe, "test", splits.test));
  return std::make_unique<Anomaly>(recipe, config,
                                   SetSplits{std::move(train_source), std::move(validation), std::move(test_source)},
                                   DigestOf(train));
}

}  // namespace vitrine
