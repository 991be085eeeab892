// SPDX-License-Identifier: Apache-2.0
// Tests that a workload's list of operators matches the execution: LibTorch reports every operator that a forward pass
// calls, and the sizes of its operands give the multiply-adds.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <string>

#include "models/reference/model.h"
#include "models/workload/conventions.h"
#include "models/workload/workload.h"
#include "models/zoo.h"
#include "models/zoo/small_forms.h"
#include "tests/models/reference/images.h"
#include "tests/models/reference/mac_counter.h"

namespace vitrine {
namespace {

class ExecutedWorkload : public ::testing::TestWithParam<SmallForm> {};

INSTANTIATE_TEST_SUITE_P(Families, ExecutedWorkload, ::testing::ValuesIn(SmallForms()),
                         [](const auto& info) { return info.param.name; });

// Returns the multiply-adds of a forward pass, as MacCounter counts them. Enables gradients, because without them the
// model appends padding rows to the tokens, and the products of these rows would be counted. The pass still computes no
// gradients, because no parameter requires them.
int64_t CountedMacs(const Model& model, const ImageBatch& images) {
  const at::AutoGradMode no_padding(true);
  ForwardContext context;
  context.library_only = true;
  const testing::MacCounter counter;
  model.Forward(images, context);
  return counter.total();
}

TEST_P(ExecutedWorkload, MultiplyAddsEqualTheWorkload) {
  const v1::ModelConfig config = GetParam().config;
  const auto model = MakeModel(config);
  ASSERT_TRUE(model.ok()) << model.status();
  const WorkloadInput input{GetParam().height, GetParam().width, 2};
  const ImageBatch images{testing::RandomImage(3, input.height, input.width, 1),
                          testing::RandomImage(3, input.height, input.width, 2)};
  const absl::StatusOr<Workload> workload = WorkloadOf(config, input, Form::kExecuted);
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(CountedMacs(**model, images), Macs(*workload));
  EXPECT_EQ((*model)->CountParameters(), Parameters(*workload));
}

TEST(CountedRuns, MultiplyAddsOfKvClassifiersEqualTheWorkload) {
  for (const char* name : {"qkv-mnist-p7-d64-l2", "kv-mnist-p7-d64-l2", "kv-pos-mnist-p7-d64-l2"}) {
    const v1::ModelConfig config = FindVariant(name)->config;
    const auto model = MakeModel(config);
    const int64_t listed = Macs(*WorkloadOf(config, {28, 28, 2}, Form::kExecuted));
    // Per layer, map_pos multiplies the encodings of 17 keys, with 24 channels each, by weights; the workload has no
    // such matrix product.
    const int64_t offsets = config.kv().attention() == v1::KvConfig::KV_POS ? 2 * 17 * 24 : 0;
    EXPECT_EQ(CountedMacs(**model, {testing::RandomImage(1, 28, 28, 1), testing::RandomImage(1, 28, 28, 2)}),
              listed + offsets)
        << name;
  }
}

// Checks that the counter counts all products: models with two blocks and with one must differ by the cost of a block.
TEST(CountedRuns, TheCounterCountsEveryProductOfABlock) {
  const v1::ModelConfig two = SmallForms()[0].config;
  v1::ModelConfig one = two;
  one.mutable_vit()->set_depth(1);
  const ImageBatch images{testing::RandomImage(3, 12, 16, 1)};
  const int64_t difference = CountedMacs(**MakeModel(two), images) - CountedMacs(**MakeModel(one), images);
  const int64_t n = 13, d = 24;
  EXPECT_EQ(difference, n * (4 * d * d + 2 * d * 40) + 2 * n * n * d);
}

}  // namespace
}  // namespace vitrine
