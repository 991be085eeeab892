// SPDX-License-Identifier: Apache-2.0
// Compares every weight of the zoo with a recording (name, shape, order, trained or not, decay), because published
// checkpoints depend on these properties. tests/models/reference compares initial values.
#include <gtest/gtest.h>

#include "models/families/family.h"
#include "tests/models/recorded_weights.h"

namespace vitrine {
namespace {

using program::Program;

TEST(ProgramWeights, EqualTheRecordedOnesForTheWholeZoo) {
  for (const testing::RecordedWeights& recorded : testing::ReadRecordedWeights()) {
    const absl::StatusOr<Program> program = ProgramOf(recorded.config);
    ASSERT_TRUE(program.ok()) << recorded.name << ": " << program.status();
    testing::WeightsDigest digest;
    for (const program::Weight& weight : program->weights())
      digest.Add(weight.name, weight.shape, weight.trained, weight.decays);
    EXPECT_EQ(digest.hex(), recorded.structure) << recorded.name;
  }
}

int WidthOf(const v1::ModelConfig& config) {
  return config.has_vit()            ? config.vit().width()
         : config.has_eit()          ? config.eit().width()
         : config.has_eit_baseline() ? config.eit_baseline().width()
         : config.has_kv()           ? config.kv().width()
         : config.has_xcit()         ? config.xcit().width()
                                     : config.xvit().width();
}

TEST(Programs, HaveTheOutputShapesOfTheirConfig) {
  for (const testing::RecordedWeights& recorded : testing::ReadRecordedWeights()) {
    if (recorded.config.has_null()) continue;
    const Program program = ProgramOf(recorded.config).value();
    EXPECT_EQ(program.info(program.logits()).columns, recorded.config.classes()) << recorded.name;
    EXPECT_GE(program.Count(program::PrefixToken::kClass), 1) << recorded.name;
    EXPECT_EQ(program.info(program.final_tokens()).columns, WidthOf(recorded.config)) << recorded.name;
    const v1::Preprocessing& preprocessing = recorded.config.preprocessing();
    if (preprocessing.has_native()) {
      EXPECT_EQ(program.cell(), preprocessing.native().cell()) << recorded.name;
    }
  }
}

}  // namespace
}  // namespace vitrine
