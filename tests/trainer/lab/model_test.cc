// SPDX-License-Identifier: Apache-2.0
// Compares the sequence models with the published formulas, and tests which inputs may change which outputs.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tests/models/reference/images.h"
#include "tests/trainer/lab/oracle.h"
#include "trainer/lab/sequence_model.h"
#include "trainer/lab/zoo.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::HashedBatch;
using ::testing::HasSubstr;
using testing::MakeHashedSequence;
using testing::SequenceConfigOf;
using testing::SequenceOracle;
using testing::Small;
using v1::KvConfig;
using v1::SequenceConfig;

at::Tensor LogitsOf(const SequenceModel& model, const SequenceBatch& batch) {
  const absl::StatusOr<at::Tensor> logits = RunSequenceModel(model, batch);
  EXPECT_TRUE(logits.ok()) << logits.status();
  return *logits;
}

double Relative(const at::Tensor& logits, const at::Tensor& expected) {
  return Difference(logits, expected) / std::max(1.0, expected.abs().max().item<double>());
}

// Returns the zoo's first row of each task with each attention.
std::vector<SequenceRow> OnePerTaskAndAttention() {
  std::vector<SequenceRow> rows;
  for (const std::string_view task : {"task-", "anomaly-", "characters-", "numbers-", "translation-"}) {
    for (const std::string_view attention : {"qkv-d", "kv-d", "kv-pos-d"}) {
      for (const SequenceRow& row : SequenceZoo()) {
        if (!row.name.starts_with(std::string(task) + std::string(attention))) continue;
        rows.push_back(row);
        break;
      }
    }
  }
  return rows;
}

TEST(SequenceModels, AgreeWithThePublishedFormulas) {
  ASSERT_EQ(OnePerTaskAndAttention().size(), 15u);
  for (const SequenceRow& row : OnePerTaskAndAttention()) {
    SCOPED_TRACE(row.name);
    const auto model = MakeHashedSequence(Small(row.config));
    const SequenceBatch batch = HashedBatch(model->config(), 2, 7);
    const at::Tensor logits = LogitsOf(*model, batch);
    const at::Tensor expected = SequenceOracle(*model, batch);
    ASSERT_EQ(logits.sizes(), expected.sizes());
    EXPECT_LT(Relative(logits, expected), 1e-5);
    EXPECT_GT(expected.std().item<double>(), 1e-2) << "nothing was compared";
  }
}

// The published code uses keys as queries if source and target are equally long. Our code must not.
TEST(SequenceModels, ASourceAsLongAsItsTargetUsesItsOwnQueries) {
  for (const std::string row : {"translation-kv-d64-l1", "translation-kv-pos-d64-l1"}) {
    const auto model = MakeHashedSequence(Small(SequenceConfigOf(row)));
    const SequenceBatch batch{HashedBatch(model->config(), 2, 7).source, HashedBatch(model->config(), 2, 8).target};
    ASSERT_EQ(batch.source.size(1), batch.target.size(1));
    EXPECT_LT(Relative(LogitsOf(*model, batch), SequenceOracle(*model, batch)), 1e-5) << row;
  }
}

// Tests all combinations of norms, positions and heads.
TEST(SequenceModels, NormsPositionsAndHeadsCanBeCombined) {
  for (const auto norm : {SequenceConfig::POST, SequenceConfig::PRE, SequenceConfig::PRE_NORMALISED}) {
    for (const auto positions :
         {SequenceConfig::NONE, SequenceConfig::INTERLEAVED, SequenceConfig::HALVES, SequenceConfig::LEARNED}) {
      for (const auto head : {SequenceConfig::LINEAR, SequenceConfig::HIDDEN, SequenceConfig::TIED}) {
        SequenceConfig config = Small(SequenceConfigOf("numbers-kv-d64-l4"));
        config.set_norm(norm);
        config.set_positions(positions);
        config.set_head(head);
        config.set_causal(head != SequenceConfig::HIDDEN);
        config.set_projection_bias(positions == SequenceConfig::HALVES);
        config.set_score_scale(norm == SequenceConfig::PRE ? KvConfig::FULL_WIDTH : KvConfig::HEAD_WIDTH);
        SCOPED_TRACE(config.ShortDebugString());
        const auto model = MakeHashedSequence(config);
        const SequenceBatch batch = HashedBatch(config, 1, 5);
        EXPECT_LT(Relative(LogitsOf(*model, batch), SequenceOracle(*model, batch)), 1e-5);
      }
    }
  }
}

TEST(SequenceModels, PaddingDoesNotChangeLogits) {
  for (const std::string row : {"translation-qkv-d64-l1", "translation-kv-d64-l1", "translation-kv-pos-d64-l1"}) {
    SCOPED_TRACE(row);
    const auto model = MakeHashedSequence(Small(SequenceConfigOf(row)));
    const SequenceBatch batch = HashedBatch(model->config(), 2, 6);
    const at::Tensor fill = at::full({2, 3}, 1, at::kLong);
    const SequenceBatch padded{at::cat({batch.source, fill}, 1), at::cat({batch.target, fill}, 1)};
    const at::Tensor expected = LogitsOf(*model, batch);
    EXPECT_LT(Difference(LogitsOf(*model, padded).narrow(1, 0, 5), expected), 1e-5);
    EXPECT_LT(Relative(LogitsOf(*model, padded), SequenceOracle(*model, padded)), 1e-5);
    // Without the mask the padding would change the result.
    SequenceConfig blind = model->config();
    blind.mutable_pair()->clear_padding();
    EXPECT_GT(Difference(LogitsOf(*MakeHashedSequence(blind), padded).narrow(1, 0, 5), expected), 1e-3);
  }
}

TEST(SetAnomaly, PermutedSetsGivePermutedLogitsWithoutPositions) {
  const at::Tensor order = at::tensor({4, 7, 0, 9, 2, 1, 8, 3, 6, 5});
  for (const auto& [row, equivariant] : {std::pair<std::string, bool>{"anomaly-qkv-d256-l2", true},
                                         {"anomaly-kv-d256-l2", true},
                                         {"anomaly-kv-pos-d256-l2", false}}) {
    SCOPED_TRACE(row);
    const auto model = MakeHashedSequence(row);
    const SequenceBatch batch = HashedBatch(model->config(), 2, 10);
    const at::Tensor permuted = LogitsOf(*model, {at::index_select(batch.source, 1, order), {}});
    const double difference = Difference(permuted, at::index_select(LogitsOf(*model, batch), 1, order));
    if (equivariant) {
      EXPECT_LT(difference, 1e-5);
    } else {
      EXPECT_GT(difference, 1e-3) << "g(j) tells the places of a set apart";
    }
  }
}

TEST(SequenceModels, EveryParameterHasACorrectGradient) {
  for (const SequenceRow& row : OnePerTaskAndAttention()) {
    SCOPED_TRACE(row.name);
    const auto model = MakeHashedSequence(Small(row.config));
    model->RequireGrad(true);
    const SequenceBatch batch = HashedBatch(model->config(), 4, 12);
    const at::Tensor direction = testing::Hashed(model->Forward(batch, {}).sizes(), 7);
    const at::Tensor before = (model->Forward(batch, {}) * direction).sum();
    before.backward();
    double slope = 0;
    for (const NamedTensor& parameter : model->Parameters()) {
      ASSERT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
      const double largest = parameter.tensor.grad().abs().max().item<double>();
      if (parameter.name.find("map_pos.bias") != std::string::npos) {
        EXPECT_EQ(largest, 0) << "the bias of map_pos cancels in the softmax";
      } else {
        EXPECT_GT(largest, 1e-7) << parameter.name;
      }
      slope += parameter.tensor.grad().pow(2).sum().item<double>();
    }
    const double step = 1e-3 / std::sqrt(slope);
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : model->Parameters()) {
      at::Tensor(parameter.tensor).sub_(parameter.tensor.grad() * step);
    }
    const double after = (model->Forward(batch, {}) * direction).sum().item<double>();
    EXPECT_NEAR((before.item<double>() - after) / (slope * step), 1, 0.15);
  }
}

TEST(SequenceModels, DropoutActsOnlyAtConfiguredPlacesInTraining) {
  const SequenceConfig plain = [] {
    SequenceConfig config = Small(SequenceConfigOf("task-kv-d64-l2"));
    config.clear_dropping();
    return config;
  }();
  const SequenceBatch batch = HashedBatch(plain, 2, 7);
  const ForwardContext training{.training = true, .dropout = DropRates::Uniform(0.5F), .dropout_seed = 3};
  const at::Tensor residuals = MakeHashedSequence(plain)->Forward(batch, training);
  EXPECT_GT(Difference(residuals, LogitsOf(*MakeHashedSequence(plain), batch)), 1e-3)
      << "residual branches always drop";
  for (const auto place : {SequenceConfig::INPUT, SequenceConfig::WEIGHTS, SequenceConfig::HIDDEN_LAYER}) {
    SequenceConfig config = plain;
    config.add_dropping(place);
    const auto model = MakeHashedSequence(config);
    EXPECT_GT(Difference(model->Forward(batch, training), residuals), 1e-3) << place;
    EXPECT_EQ(Difference(LogitsOf(*model, batch), LogitsOf(*MakeHashedSequence(plain), batch)), 0) << place;
  }
}

TEST(SequenceModels, ASeparateAttentionRateReplacesTheConfigs) {
  SequenceConfig without = Small(SequenceConfigOf("task-kv-d64-l2"));
  without.clear_dropping();
  SequenceConfig with = without;
  with.add_dropping(SequenceConfig::WEIGHTS);
  const SequenceBatch batch = HashedBatch(without, 2, 7);
  const auto plain = MakeHashedSequence(without), dropping = MakeHashedSequence(with);
  ForwardContext training{.training = true, .dropout = DropRates::Uniform(0.5F), .dropout_seed = 3};
  const at::Tensor residuals = plain->Forward(batch, training);
  EXPECT_GT(Difference(dropping->Forward(batch, training), residuals), 1e-3);
  training.dropout.attention = 0;
  EXPECT_EQ(Difference(dropping->Forward(batch, training), residuals), 0);
  training.dropout.attention = 0.5F;
  EXPECT_EQ(Difference(dropping->Forward(batch, training), plain->Forward(batch, training)), 0);
  EXPECT_GT(Difference(plain->Forward(batch, training), residuals), 1e-3);
}

// If every branch is dropped, each output of a model without source attention depends only on the input at the same
// position.
TEST(SequenceModels, DropPathLeavesOutBranches) {
  SequenceConfig config = Small(SequenceConfigOf("task-kv-d64-l2"));
  config.clear_dropping();
  const auto model = MakeHashedSequence(config);
  SequenceBatch batch = HashedBatch(config, 2, 7);
  ForwardContext training{.training = true, .drop_path = std::nextafter(1.0F, 0.0F)};
  const at::Tensor before = model->Forward(batch, training);
  batch.source.select(1, 0).add_(1);
  const at::Tensor after = model->Forward(batch, training);
  EXPECT_GT(Difference(after.select(1, 0), before.select(1, 0)), 1e-4);
  EXPECT_EQ(Difference(after.slice(1, 1), before.slice(1, 1)), 0);
  training.drop_path = 0.5F;
  EXPECT_GT(Difference(model->Forward(batch, training), after), 1e-4);
}

// Returns the largest |value| of a parameter in a new model.
double Largest(const SequenceModel& model, const std::string& name) {
  for (const NamedTensor& parameter : model.Parameters()) {
    if (parameter.name == name) return parameter.tensor.abs().max().item<double>();
  }
  ADD_FAILURE() << "no parameter " << name;
  return 0;
}

TEST(SequenceModels, InitialWeightsFollowThePapersCode) {
  // Values are uniform within a bound, so the largest of many values is just below the bound.
  const auto near = [](double bound) { return ::testing::AllOf(::testing::Le(bound), ::testing::Gt(0.98 * bound)); };
  const double d = 64, xavier = std::sqrt(6 / (d + d)), fan_in = 1 / std::sqrt(d);
  const std::string block = "encoder.blocks.0.";
  const auto task = *MakeSequenceModel(SequenceConfigOf("task-kv-pos-d64-l2"));
  EXPECT_THAT(Largest(*task, block + "attention.projection.weight"), near(std::sqrt(6 / (d + 2 * d))));
  EXPECT_THAT(Largest(*task, block + "attention.output.weight"), near(xavier));
  EXPECT_LE(Largest(*task, block + "attention.map_pos.weight"), std::sqrt(6.0 / 11));
  EXPECT_GT(Largest(*task, block + "attention.map_pos.weight"), 1 / std::sqrt(10.0));
  for (const std::string name : {"projection", "output", "map_pos"}) {
    EXPECT_EQ(Largest(*task, block + "attention." + name + ".bias"), 0) << name;
  }
  EXPECT_THAT(Largest(*task, block + "feed_forward.fc1.weight"), near(fan_in));

  const auto numbers = *MakeSequenceModel(SequenceConfigOf("numbers-kv-d64-l4"));
  EXPECT_THAT(Largest(*numbers, block + "attention.projection.weight"), near(xavier)) << "each matrix alone";
  EXPECT_THAT(Largest(*numbers, block + "feed_forward.fc1.weight"), near(std::sqrt(6 / (5 * d))));
  EXPECT_LT(Largest(*numbers, "embedding.table"), 5 / std::sqrt(d));

  const auto characters = *MakeSequenceModel(SequenceConfigOf("characters-kv-d192-l6"));
  EXPECT_THAT(Largest(*characters, block + "attention.projection.weight"), near(1 / std::sqrt(192.0)));
  EXPECT_GT(Largest(*characters, "embedding.table"), 3);
  EXPECT_GT(Largest(*characters, "positions.table"), 3);

  const auto translation = *MakeSequenceModel(SequenceConfigOf("translation-kv-d64-l1"));
  EXPECT_THAT(Largest(*translation, "source_embedding.table"), near(std::sqrt(6 / (d + 10'000))));
  EXPECT_THAT(Largest(*translation, "head.output.weight"), near(std::sqrt(6 / (d + 10'000))));
  EXPECT_THAT(Largest(*translation, "decoder.blocks.0.source_attention.key_value.weight"), near(xavier));
}

// Returns a batch of one sequence, [1, n].
at::Tensor Ids(const std::vector<int64_t>& ids) {
  return at::tensor(ids, at::kLong).unsqueeze(0);
}

TEST(RunSequenceModel, RefusesInputsThatTheModelDoesNotAccept) {
  const auto refusal = [](std::string_view row, const SequenceBatch& batch) {
    const auto model = *MakeSequenceModel(Small(SequenceConfigOf(row)));
    return RunSequenceModel(*model, batch).status().ToString();
  };
  const at::Tensor ids = Ids({2, 3});
  EXPECT_THAT(refusal("numbers-kv-d64-l4", {Ids({2, 30}), {}}),
              HasSubstr("the source has the id 30; this model's vocabulary has ids 0 to 29"));
  EXPECT_THAT(refusal("numbers-kv-d64-l4", {Ids({-1}), {}}), HasSubstr("has the id -1"));
  EXPECT_EQ(refusal("numbers-kv-d64-l4", {Ids({0, 29}), {}}), "OK") << "the first and the last id";
  EXPECT_THAT(refusal("numbers-kv-d64-l4", {at::full({1, 13}, 2, at::kLong), {}}),
              HasSubstr("sequences of 13 elements; this model takes 1 to 12"));
  EXPECT_THAT(refusal("numbers-kv-d64-l4", {testing::Hashed({1, 2}, 1), {}}), HasSubstr("not an int64 tensor"));
  EXPECT_THAT(refusal("numbers-kv-d64-l4", {ids, ids}), HasSubstr("the batch has a target"));
  EXPECT_THAT(refusal("task-kv-d64-l2", {testing::Hashed({1, 5, 9}, 1), {}}), HasSubstr("and 10 values"));
  EXPECT_THAT(refusal("task-kv-d64-l2", {testing::Hashed({1, 0, 10}, 1), {}}), HasSubstr("sequences of 0 elements"));
  EXPECT_THAT(refusal("task-kv-d64-l2", {}), HasSubstr("and 10 values"));
  EXPECT_THAT(refusal("translation-kv-d64-l1", {ids, {}}), HasSubstr("the target is not an int64 tensor"));
  EXPECT_THAT(refusal("translation-kv-d64-l1", {ids, Ids({2, 2}).t()}), HasSubstr("1 sources and 2 targets"));
  EXPECT_THAT(refusal("translation-kv-d64-l1", {Ids({1, 2}), ids}), HasSubstr("begins with padding"));
}

}  // namespace
}  // namespace vitrine
