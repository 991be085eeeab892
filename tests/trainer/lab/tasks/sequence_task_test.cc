// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/sequence_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/tasks/task_testing.h"
#include "trainer/lab/zoo.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RecipeOf;
using testing::RefusalOf;

TEST(SequenceTaskTest, OverridesReplaceFieldsAndLists) {
  const auto plain = *SequenceConfigOf(RecipeOf("sequence { model: \"characters-kv-pos-d64-l1\" }"));
  EXPECT_EQ(plain.SerializeAsString(), FindSequence("characters-kv-pos-d64-l1")->config.SerializeAsString());
  const auto config = *SequenceConfigOf(
      RecipeOf("sequence { model: \"characters-kv-pos-d64-l1\" model_overrides { heads: 1 dropping: INPUT } }"));
  EXPECT_EQ(config.heads(), 1);
  EXPECT_EQ(config.width(), 64);
  EXPECT_THAT(config.dropping(), ElementsAre(v1::SequenceConfig::INPUT));
}

TEST(SequenceTaskTest, RefusesUnknownAndInvalidModels) {
  EXPECT_THAT(RefusalOf("sequence { model: \"task-kv-d33\" digits { task: COPY length: 4 } }"),
              HasSubstr("no sequence model is named \"task-kv-d33\""));
  EXPECT_THAT(RefusalOf("sequence { model: \"task-kv-d32-l2\" model_overrides { heads: 5 } digits { length: 4 } }"),
              HasSubstr("recipe \"test\": task-kv-d32-l2 with sequence.model_overrides: config.width"));
  EXPECT_THAT(RefusalOf("sequence { model: \"task-kv-d32-l2\" }"), HasSubstr("sequence has no task"));
}

TEST(SequenceTaskTest, TheSeedDeterminesTheInitialWeights) {
  const std::string text = " sequence { model: \"task-kv-d32-l2\" digits { task: COPY length: 4 } }";
  const auto weight = [&](const std::string& seed) {
    return (*testing::TaskOf("seed: " + seed + text)->MakeModel())->Parameters().front().tensor.sum().item<double>();
  };
  EXPECT_EQ(weight("1"), weight("1"));
  EXPECT_NE(weight("1"), weight("2"));
}

}  // namespace
}  // namespace vitrine
