// SPDX-License-Identifier: Apache-2.0
// Tests properties of each form's program: the attention that it offers, and the operators that drop values in
// training.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/families/family.h"
#include "models/program/abilities.h"
#include "models/zoo/small_forms.h"
#include "tests/models/config_text.h"

namespace vitrine::program {
namespace {

using ::testing::UnorderedElementsAre;
using Place = Drop::Place;

Program Kv(const std::string& attention) {
  return ProgramOf(testing::Config(
                       absl::StrCat("classes: 5 preprocessing { channels: 1 fixed { height: 12 width: 8 } } kv { "
                                    "patch: 4 width: 20 depth: 2 heads: 2 mlp_width: 30 grid_rows: 3 grid_columns: 2 ",
                                    attention, " }")))
      .value();
}

// Returns the message of the config's family.
const google::protobuf::Message& FamilyOf(const v1::ModelConfig& config) {
  const auto* family = v1::ModelConfig::descriptor()->FindOneofByName("family");
  const google::protobuf::Reflection& reflection = *v1::ModelConfig::GetReflection();
  return reflection.GetMessage(config, reflection.GetOneofFieldDescriptor(config, family));
}

std::map<Place, int> DropsOf(const Program& program) {
  std::map<Place, int> drops;
  std::set<int> sites;
  for (const Operator& op : program.operators()) {
    if (const Drop* drop = op.As<Drop>()) {
      ++drops[drop->place];
      EXPECT_TRUE(sites.insert(drop->site).second) << op.name << ": two places would drop alike";
    }
  }
  return drops;
}

std::vector<v1::AttentionKind> KindsOf(const Program& program) {
  std::vector<v1::AttentionKind> kinds;
  for (const AttentionAbility::Offer& offer : AttentionOf(program).offers) kinds.push_back(offer.kind);
  return kinds;
}

// Dropout acts once after the positions are added, and in every block, as in the papers.
TEST(ProgramDropout, EveryFormHasDropoutAfterPositionsAndInBlocks) {
  for (const SmallForm& form : SmallForms()) {
    std::map<Place, int> drops = DropsOf(ProgramOf(form.config).value());
    EXPECT_EQ(drops[Place::kPositions], 1) << form.name;
    const int blocks = static_cast<int>(ProgramOf(form.config)->stages().size());
    EXPECT_GE(drops[Place::kProjection], blocks) << form.name;
    EXPECT_GE(drops[Place::kMlp], blocks) << form.name;
  }
  EXPECT_EQ(DropsOf(Kv("attention: KV"))[Place::kPositions], 1);
}

TEST(AttentionOf, ScoresReplaceRolloutWithoutSoftmax) {
  EXPECT_THAT(KindsOf(Kv("attention: KV")), UnorderedElementsAre(v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES,
                                                                 v1::QUERY_ROW, v1::WEIGHTS, v1::DISTANCE, v1::SCORES));
  for (const SmallForm& form : SmallForms()) {
    if (form.name != "vit") continue;
    EXPECT_THAT(KindsOf(ProgramOf(form.config).value()),
                UnorderedElementsAre(v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::QUERY_ROW, v1::WEIGHTS,
                                     v1::DISTANCE, v1::ROLLOUT));
  }
}

// Checks that each value of every enum in a family's config is used by at least one small form, except the first two
// values of an enum (unspecified, and the usual default). So tests over all small forms cover these values.
TEST(SmallForms, UseEveryEnumValueOfEveryFamily) {
  std::set<std::string> left;
  for (const std::vector<SmallForm>& forms : {SmallForms(), SmallPrefixForms(), SmallKvForms()}) {
    for (const SmallForm& form : forms) {
      const auto& family = FamilyOf(form.config);
      for (int i = 0; i < family.GetDescriptor()->field_count(); ++i) {
        const auto* field = family.GetDescriptor()->field(i);
        if (field->enum_type() == nullptr) continue;
        for (int value = 2; value < field->enum_type()->value_count(); ++value) {
          left.insert(field->enum_type()->value(value)->full_name());
        }
      }
    }
  }
  for (const std::vector<SmallForm>& forms : {SmallForms(), SmallPrefixForms(), SmallKvForms()}) {
    for (const SmallForm& form : forms) {
      const auto& family = FamilyOf(form.config);
      for (int i = 0; i < family.GetDescriptor()->field_count(); ++i) {
        const auto* field = family.GetDescriptor()->field(i);
        if (field->enum_type() != nullptr) left.erase(family.GetReflection()->GetEnum(family, field)->full_name());
      }
    }
  }
  EXPECT_THAT(left, ::testing::IsEmpty());
}

}  // namespace
}  // namespace vitrine::program
