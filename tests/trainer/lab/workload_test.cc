// SPDX-License-Identifier: Apache-2.0
// Tests that the list of operators of a sequence model matches the execution.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "models/workload/conventions.h"
#include "tests/models/reference/mac_counter.h"
#include "trainer/lab/sequence_model.h"
#include "trainer/lab/sequence_workload.h"
#include "trainer/lab/zoo.h"

namespace vitrine {
namespace {

TEST(CountedRuns, MultiplyAddsOfSequenceModelsEqualTheWorkload) {
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

TEST(CountedRuns, ParametersOfSequenceModelsEqualTheWorkload) {
  for (const SequenceRow& row : SequenceZoo()) {
    EXPECT_EQ(Parameters(SequenceWorkloadOf(row.config, DefaultLength(row.config))), row.parameters) << row.name;
  }
}

}  // namespace
}  // namespace vitrine
