// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/scratch_folder.h"
#include "tests/trainer/tasks/task_testing.h"
#include "trainer/lab/tasks/features.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using testing::MembersOf;
using testing::RefusalOf;
using testing::TaskOf;

// Returns a recipe for a small model from the row `attention` of the zoo, for vectors of `width` values.
std::string Anomaly(const std::string& attention, const std::string& settings = "", const std::string& more = "",
                    int width = 16) {
  return "seed: 1 " + more + " sequence { model: \"anomaly-" + attention +
         "-d256-l2\" model_overrides { features { width: " + std::to_string(width) +
         " } width: 32 mlp_width: 64 heads: 2 } anomaly { set_size: "
         "5 " +
         settings + " } }";
}

// Returns vectors of 16 values: 12 vectors of each of 4 classes. The first value is the class, the second is the index.
FeatureSet Numbered() {
  FeatureSet set{.features = at::randn({48, 16}), .labels = {}};
  for (int i = 0; i < 48; ++i) {
    set.labels.push_back(i / 12);
    set.features[i][0] = i / 12;
    set.features[i][1] = i;
  }
  return set;
}

class AnomalyTaskTest : public ::testing::Test {
 protected:
  // Writes `set` both as the training split and as the test split. Returns the name of the data.
  std::string Write(const FeatureSet& set) {
    EXPECT_TRUE(WriteFeatures(set, folder_.path() / "train.safetensors").ok());
    EXPECT_TRUE(WriteFeatures(set, folder_.path() / "test.safetensors").ok());
    return "features:" + folder_.path().string();
  }
  ScratchFolder folder_;
};

TEST_F(AnomalyTaskTest, LearnsOnGeneratedClusters) {
  for (const std::string attention : {"qkv", "kv-pos"}) {
    const auto task = TaskOf(Anomaly(attention, "", "", 64), "generated:clusters");
    EXPECT_EQ(task->samples_in_words(), "sets");
    const auto model = testing::TrainFor(*task, 50, 160, 2e-3);
    const Score score = *task->MeasureOn(MeasuredSplit::kTest, *model, {});
    EXPECT_EQ(score.measures.front().name, "accuracy");
    EXPECT_EQ(score.samples, 400);
    EXPECT_GT(testing::MeasureOf(score, "accuracy"), 0.45) << attention;  // chance gives 0.2
  }
}

TEST_F(AnomalyTaskTest, TheLabelIsThePositionOfTheAnomaly) {
  const auto task = TaskOf(Anomaly("kv"), Write(Numbered()));
  const TrainingBatch batch = *task->MakeBatch(0, 0, task->EpochMembers(0));
  ASSERT_EQ(batch.samples, 48);
  std::set<int64_t> anomalies, places;
  for (int64_t i = 0; i < batch.samples; ++i) {
    std::map<int64_t, int> classes;
    std::set<int64_t> numbers;
    for (int64_t t = 0; t < 5; ++t) {
      ++classes[batch.sequences.source[i][t][0].item<int64_t>()];
      numbers.insert(batch.sequences.source[i][t][1].item<int64_t>());
    }
    const int64_t place = batch.labels[i].item<int64_t>();
    EXPECT_EQ(classes.size(), 2u);
    EXPECT_EQ(numbers.size(), 5u);
    EXPECT_EQ(classes[batch.sequences.source[i][place][0].item<int64_t>()], 1);
    anomalies.insert(batch.sequences.source[i][place][1].item<int64_t>());
    places.insert(place);
  }
  EXPECT_EQ(anomalies.size(), 48u);  // each vector is the anomaly once per epoch
  EXPECT_EQ(places.size(), 5u);      // anomalies are at every position
}

TEST_F(AnomalyTaskTest, TrainingSetsDependOnlyOnTheEpoch) {
  const auto task = TaskOf(Anomaly("kv"), "generated:clusters");
  const auto sources = [&](int64_t epoch, int64_t index, const std::vector<int64_t>& samples) {
    return (*task->MakeBatch(epoch, index, MembersOf(samples))).sequences.source;
  };
  EXPECT_TRUE(at::equal(sources(0, 0, {4, 9})[1], sources(0, 3, {9})[0]));
  EXPECT_FALSE(at::equal(sources(0, 0, {9}), sources(1, 0, {9})));
}

TEST_F(AnomalyTaskTest, HoldsOutAShareOfEachClass) {
  const auto task = TaskOf(Anomaly("kv", "", "validation_share: 0.1 evaluate_every: 1"), "generated:clusters");
  const auto model = *task->MakeModel();
  EXPECT_EQ(task->samples(), 1800);
  EXPECT_EQ(task->MeasureOn(MeasuredSplit::kValidation, *model, {})->samples, 200);
  EXPECT_EQ(task->MeasureOn(MeasuredSplit::kTest, *model, {})->samples, 400);
}

// In the published notebooks, the anomaly is always the last element, so a model with positions can find it without
// looking at the features. Here the features are noise, so that the model can learn nothing but the position.
TEST_F(AnomalyTaskTest, PositionsRevealAnAnomalyThatIsAlwaysLast) {
  FeatureSet noise{.features = at::randn({400, 16}), .labels = {}};
  for (int i = 0; i < 400; ++i) noise.labels.push_back(i % 10);
  const std::string data = Write(noise);
  const auto accuracy = [&](const std::string& attention, const std::string& settings) {
    const auto task = TaskOf(Anomaly(attention, settings), data);
    const auto model = testing::TrainFor(*task, 50, 150, 3e-3);
    return testing::MeasureOf(*task->MeasureOn(MeasuredSplit::kTest, *model, {}), "accuracy");
  };
  EXPECT_GT(accuracy("kv-pos", "anomaly_last: true"), 0.9);
  EXPECT_LT(accuracy("kv", "anomaly_last: true"), 0.4);  // chance gives 0.2
  EXPECT_LT(accuracy("kv-pos", ""), 0.4);
}

TEST_F(AnomalyTaskTest, RefusesUnsuitableDataAndModels) {
  EXPECT_THAT(RefusalOf(Anomaly("kv", "", "data { hint: \"features:DIR\" origin: \"They are made so.\" }")),
              HasSubstr("needs --data features:DIR. They are made so."));
  EXPECT_THAT(RefusalOf(Anomaly("kv"), "generated:numbers"), HasSubstr("generated:clusters"));
  EXPECT_THAT(RefusalOf(Anomaly("kv"), "mnist:x"), HasSubstr("the kinds are features, generated"));
  EXPECT_THAT(RefusalOf(Anomaly("kv"), "features:/absent"), HasSubstr("/absent"));
  EXPECT_THAT(RefusalOf(Anomaly("kv", "", "validation_share: 0.02"), "generated:clusters"),
              HasSubstr("the validation split makes no sets: class 0 has 2 images; sets of 5 need 4"));
  EXPECT_THAT(RefusalOf("sequence { model: \"anomaly-kv-d256-l2\" anomaly { set_size: 2 } }", "generated:clusters"),
              HasSubstr("sequence.anomaly.set_size is 2; allowed: 3 to 200"));
  EXPECT_THAT(RefusalOf("sequence { model: \"anomaly-kv-d256-l2\" anomaly {} }", Write(Numbered())),
              HasSubstr("reads vectors of 512 values, the data have 16"));
  EXPECT_THAT(RefusalOf("sequence { model: \"task-kv-d32-l2\" anomaly {} }", "generated:clusters"),
              HasSubstr("use a row anomaly-*"));
}

}  // namespace
}  // namespace vitrine
