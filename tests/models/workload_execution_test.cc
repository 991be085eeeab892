// SPDX-License-Identifier: Apache-2.0
// That the list of operators is what runs: LibTorch reports every operator that a forward pass calls, and the sizes of
// its operands give the multiply-adds.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "models/model.h"
#include "models/sequences/sequence_model.h"
#include "models/sequences/zoo.h"
#include "models/workload/conventions.h"
#include "models/workload/sequence.h"
#include "models/workload/workload.h"
#include "models/zoo.h"
#include "tests/models/mac_counter.h"
#include "tests/models/pictures.h"

namespace vitrine {
namespace {

// Small models of every form, from configs so that the zoo's names need not be known here.
constexpr char kPicture[] =
    "classes: 7 preprocessing { channels: 3 native { cell: %d min_tokens: 1 max_tokens: 99 } } ";

struct Case {
  std::string name;
  int cell;
  std::string family;
  int height, width;  // one image
};

const char kEit[] = "eit { width: 20 depth: 3 heads: 4 mlp_width: 48 grid_rows: 3 grid_columns: 4 ";
const char kBaseline[] = "eit_baseline { width: 20 depth: 2 heads: 4 mlp_width: 48 ";
const char kXcit[] = "xcit { patch: 16 width: 32 depth: 2 class_depth: 2 heads: 4 mlp_width: 48 ";
const char kXVit[] = "xvit { patch: 16 width: 32 depth: 2 class_depth: 1 heads: 4 attention_width: 16 mlp_width: 48 ";

std::vector<Case> Cases() {
  const std::string vit = "vit { patch: 4 width: 24 depth: 2 heads: 3 mlp_width: 40 grid_rows: 3 grid_columns: 4 ";
  return {
      {"vit", 4, vit + "}", 12, 16},
      {"vit_post", 4, vit + "norm: POST }", 12, 16},
      {"vit_other_grid", 4, vit + "}", 20, 8},
      {"eit", 4, kEit + std::string("pool: 4 }"), 12, 16},
      {"eit_pool3", 3, kEit + std::string("pool: 3 }"), 9, 12},
      {"eit_linear_patches", 4, kEit + std::string("pool: 4 conv_projection: false }"), 12, 16},
      {"eit_attention_only", 4, kEit + std::string("pool: 4 conv_channels: false }"), 12, 16},
      {"eit_three_convolutions", 4, kEit + std::string("pool: 4 convolution: CONV_CONV }"), 12, 16},
      {"eit_gelu", 4, kEit + std::string("pool: 4 convolution: GELU_CONV }"), 12, 16},
      {"eit_batch_norm", 4, kEit + std::string("pool: 4 convolution: BN_RELU }"), 12, 16},
      {"eit_parallel", 4, kEit + std::string("pool: 4 conv_channels: false parallel_convolution: true }"), 12, 16},
      {"baseline_lsra", 4, kBaseline + std::string("grid_rows: 3 grid_columns: 4 patches: LINEAR mixer: LSRA }"), 12,
       16},
      {"baseline_cvt_p", 2,
       kBaseline + std::string("grid_rows: 6 grid_columns: 8 patches: OVERLAPPING mixer: ATTENTION }"), 12, 16},
      {"baseline_cvt_t", 4,
       kBaseline + std::string("grid_rows: 3 grid_columns: 4 patches: LINEAR mixer: CONVOLVED_QKV }"), 12, 16},
      {"baseline_vit_c", 4, kBaseline + std::string("grid_rows: 3 grid_columns: 4 patches: STEM mixer: ATTENTION }"),
       12, 16},
      {"xcit", 16, kXcit + std::string("}"), 48, 64},
      {"xcit_tokens_norm", 16, kXcit + std::string("tokens_norm: true }"), 48, 64},
      {"xcit_sne", 16, kXcit + std::string("embedding: SNE embedding_width: 20 embedding_layers: 3 }"), 48, 64},
      {"xcit_p_sne", 16, kXcit + std::string("embedding: P_SNE embedding_width: 20 }"), 48, 64},
      {"xcit_f_sne", 16, kXcit + std::string("embedding: F_SNE embedding_width: 20 code_length: 5 }"), 48, 64},
      {"xvit", 16, kXVit + std::string("}"), 48, 64},
      {"xvit_last_axis", 16, kXVit + std::string("norm_axis: LAST }"), 48, 64},
  };
}

v1::ModelConfig ConfigOf(const Case& test) {
  char input[200];
  std::snprintf(input, sizeof input, kPicture, test.cell);
  return testing::Config(input + test.family);
}

class WhatRuns : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Families, WhatRuns, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// With gradients enabled, though no parameter wants any, no rows of padding follow the tokens.
int64_t CountedMacs(const Model& model, const ImageBatch& images) {
  const at::AutoGradMode no_padding(true);
  ForwardContext context;
  context.library_only = true;
  const testing::MacCounter counter;
  model.Forward(images, context);
  return counter.total();
}

TEST_P(WhatRuns, MultiplyAddsAreThoseOfTheList) {
  const v1::ModelConfig config = ConfigOf(GetParam());
  const auto model = MakeModel(config);
  ASSERT_TRUE(model.ok()) << model.status();
  const WorkloadInput input{GetParam().height, GetParam().width, 2};
  const ImageBatch images{testing::Picture(3, input.height, input.width, 1),
                          testing::Picture(3, input.height, input.width, 2)};
  const absl::StatusOr<Workload> workload = WorkloadOf(config, input, Form::kExecuted);
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(CountedMacs(**model, images), Macs(*workload));
  EXPECT_EQ((*model)->CountParameters(), Parameters(*workload));
}

TEST(CountedRuns, KvClassifiers) {
  for (const char* name : {"qkv-mnist-p7-d64-l2", "kv-mnist-p7-d64-l2", "kv-pos-mnist-p7-d64-l2"}) {
    const v1::ModelConfig config = FindVariant(name)->config;
    const auto model = MakeModel(config);
    const int64_t listed = Macs(*WorkloadOf(config, {28, 28, 2}, Form::kExecuted));
    // map_pos maps the encoding of 17 keys, 24 of its channels, once a layer; the list has no such matrix product.
    const int64_t offsets = config.kv().attention() == v1::KvConfig::KV_POS ? 2 * 17 * 24 : 0;
    EXPECT_EQ(CountedMacs(**model, {testing::Picture(1, 28, 28, 1), testing::Picture(1, 28, 28, 2)}), listed + offsets)
        << name;
  }
}

TEST(CountedRuns, SequenceModels) {
  for (const char* name : {"task-qkv-d32-l2", "anomaly-kv-d256-l2", "characters-qkv-d192-l6", "numbers-kv-d64-l4",
                           "translation-qkv-d64-l1"}) {
    const v1::SequenceConfig config = FindSequence(name)->config;
    const auto model = MakeSequenceModel(config);
    ASSERT_TRUE(model.ok()) << model.status();
    constexpr int kLength = 6;
    SequenceBatch batch;
    if (config.has_features()) {
      batch.source = at::ones({1, kLength, config.features().width()});
    } else {
      batch.source = at::zeros({1, kLength}, at::kLong);
      if (config.has_pair()) batch.target = at::zeros({1, kLength}, at::kLong);
    }
    const testing::MacCounter counter;
    ASSERT_TRUE(RunSequenceModel(**model, batch).ok());
    EXPECT_EQ(counter.total(), Macs(SequenceWorkloadOf(config, kLength))) << name;
  }
}

TEST(CountedRuns, ParametersOfEverySequenceModel) {
  for (const SequenceRow& row : SequenceZoo()) {
    EXPECT_EQ(Parameters(SequenceWorkloadOf(row.config, DefaultLength(row.config))), row.parameters) << row.name;
  }
}

// The hook sees what it must: a model with one block less costs one block less.
TEST(CountedRuns, TheCounterNoticesABlock) {
  Case test = Cases()[0];
  const v1::ModelConfig two = ConfigOf(test);
  v1::ModelConfig one = two;
  one.mutable_vit()->set_depth(1);
  const ImageBatch images{testing::Picture(3, 12, 16, 1)};
  const int64_t difference = CountedMacs(**MakeModel(two), images) - CountedMacs(**MakeModel(one), images);
  const int64_t n = 13, d = 24;
  EXPECT_EQ(difference, n * (4 * d * d + 2 * d * 40) + 2 * n * n * d);
}

}  // namespace
}  // namespace vitrine
