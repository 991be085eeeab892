// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "models/families/family.h"
#include "models/model.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST(Zoo, EveryVariantHasExactlyThePublishedNumberOfParameters) {
  for (const ZooRow& row : Zoo()) {
    // On the meta device: ViT-H alone would fill 2.5 GB.
    const absl::StatusOr<std::unique_ptr<Model>> model = MakeModel(row.config, 0, at::kMeta);
    ASSERT_TRUE(model.ok()) << row.name << ": " << model.status();
    EXPECT_EQ((*model)->CountParameters(), row.parameters) << row.name;
  }
}

TEST(Zoo, NamesAreUniqueAndFitForFiles) {
  std::set<std::string> names;
  for (const ZooRow& row : Zoo()) {
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name;
    EXPECT_TRUE(std::regex_match(std::string(row.name), std::regex("[a-z0-9_.-]{1,64}"))) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
  }
}

TEST(Zoo, EveryFamilyHasARow) {
  std::set<int> families;
  for (const ZooRow& row : Zoo()) families.insert(row.config.family_case());
  for (const Family& family : Families()) EXPECT_TRUE(families.contains(family.which)) << family.name;
}

// Sizes that the EIT paper's other data sets have.
TEST(Zoo, OtherClassCountsOfEitMini) {
  v1::ModelConfig config = FindVariant("eit34-mini-cifar10")->config;
  config.set_classes(200);
  EXPECT_EQ((*MakeModel(config, 0, at::kMeta))->CountParameters(), 3'813'450);
}

TEST(FindVariant, NamesTheNearest) {
  EXPECT_EQ(FindVariant("vit-b16")->parameters, 86'567'656);
  const absl::Status status = FindVariant("eit34-mini-cifar").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("eit34-mini-cifar10"));
}

}  // namespace
}  // namespace vitrine
