// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "common/imaging/geometry.h"
#include "models/families/family.h"
#include "models/families/input.h"
#include "models/zoo/published.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

TEST(Zoo, EveryVariantHasExactlyThePublishedNumberOfParameters) {
  for (const ZooRow& row : Zoo()) {
    const absl::StatusOr<program::Program> program = ProgramOf(row.config);
    ASSERT_TRUE(program.ok()) << row.name << ": " << program.status();
    EXPECT_EQ(program->parameters(), row.parameters) << row.name;
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

TEST(Zoo, EveryFamilyHasAVariant) {
  std::set<int> families;
  for (const ZooRow& row : Zoo()) families.insert(row.config.family_case());
  for (const Family& family : Families()) EXPECT_TRUE(families.contains(family.which)) << family.name;
}

// Returns the side of the images of a data set; 0 if they have many sizes.
int ImageSide(std::string_view data) {
  if (data == "CIFAR-10" || data == "CIFAR-100") return 32;
  if (data == "Fashion-MNIST") return 28;
  return data == "Tiny-ImageNet" ? 64 : 0;
}

TEST(Zoo, PublishedVariantsHaveThePublishedGrid) {
  int published = 0;
  for (const ZooRow& row : Zoo()) {
    const std::optional<Published> print = FindPublished(row.name);
    if (!print || print->side == 0) continue;
    ++published;
    const v1::Preprocessing& preprocessing = row.config.preprocessing();
    const int cell = ProgramOf(row.config)->cell();
    const int side = ImageSide(print->data) == 0 ? print->side : ImageSide(print->data);
    const auto geometry = PlanGeometry(preprocessing, {side, side});
    ASSERT_TRUE(geometry.ok()) << row.name << ": " << geometry.status();
    const auto seen = GridOfInput(preprocessing, cell, geometry->input.height, geometry->input.width);
    const auto meant = GridOfInput(preprocessing, cell, print->side, print->side);
    ASSERT_TRUE(seen.ok() && meant.ok()) << row.name;
    EXPECT_EQ(std::pair(seen->rows, seen->columns), std::pair(meant->rows, meant->columns)) << row.name;
  }
  EXPECT_GE(published, 30);
}

// Tests the model with the class count of another data set of the EIT paper.
TEST(Zoo, EitMiniHasThePublishedSizesForOtherClassCounts) {
  v1::ModelConfig config = FindVariant("eit34-mini-cifar10")->config;
  config.set_classes(200);
  EXPECT_EQ(ProgramOf(config)->parameters(), 3'813'450);
}

TEST(FindVariant, ErrorNamesTheNearestVariants) {
  EXPECT_EQ(FindVariant("vit-b16")->parameters, 86'567'656);
  const absl::Status status = FindVariant("eit34-mini-cifar").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("eit34-mini-cifar10"));
  EXPECT_THAT(status.ToString(), ::testing::ContainsRegex("the nearest are [^,]+, [^,]+, [^, ]+\\. ")) << "three";
  EXPECT_THAT(FindVariant("kv-mnist-p5").status().ToString(),
              ::testing::ContainsRegex("the nearest are kv-mnist-p[^,]+, kv-mnist-p[^,]+, kv-mnist-p"));
}

}  // namespace
}  // namespace vitrine
