// SPDX-License-Identifier: Apache-2.0
// Names, shapes, order, what is trained and what decays of every weight of the zoo, against a recording: published
// checkpoints have them. What they start as is compared in tests/reference.
#include <gtest/gtest.h>

#include "models/families/family.h"
#include "models/zoo.h"
#include "tests/models/recorded_weights.h"
#include "tests/models/small_forms.h"

namespace vitrine {
namespace {

using program::Program;

TEST(ProgramWeights, AreThoseOfTheRecordingForTheWholeZoo) {
  for (const testing::RecordedWeights& recorded : testing::ReadRecordedWeights()) {
    const absl::StatusOr<Program> program = ProgramOf(recorded.config);
    ASSERT_TRUE(program.ok()) << recorded.name << ": " << program.status();
    testing::WeightsDigest digest;
    for (const program::Weight& weight : program->weights())
      digest.Add(weight.name, weight.shape, weight.trained, weight.decays);
    EXPECT_EQ(digest.hex(), recorded.structure) << recorded.name;
  }
}

TEST(ProgramWeights, EveryRowOfTheZooIsRecorded) {
  EXPECT_GE(testing::ReadRecordedWeights().size(), Zoo().size() + testing::SmallForms().size());
}

TEST(Programs, KnowTheirLogitsAndTokens) {
  for (const ZooRow& row : Zoo()) {
    if (row.config.has_null()) continue;
    const Program program = ProgramOf(row.config).value();
    EXPECT_EQ(program.info(program.logits()).columns, row.config.classes()) << row.name;
    EXPECT_EQ(program.info(program.final_tokens()).scale, program.cell()) << row.name;
  }
}

}  // namespace
}  // namespace vitrine
