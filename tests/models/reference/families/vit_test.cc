// SPDX-License-Identifier: Apache-2.0
// Tests the particular features of ViT: the position of the norm in a block, and any resolution.
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/reference/model.h"
#include "models/zoo.h"
#include "tests/models/reference/images.h"
#include "tests/models/reference/oracle/oracle.h"

namespace vitrine {
namespace {

using testing::Difference;
using ::testing::HasSubstr;
using testing::RandomImage;

v1::ModelConfig Small(const std::string& options) {
  return testing::Config(
      "classes: 7 preprocessing { channels: 3 native { cell: 4 min_tokens: 1 max_tokens: 2000 } } vit { patch: 4 "
      "width: "
      "24 depth: 3 heads: 4 mlp_width: 36 grid_rows: 8 grid_columns: 8 " +
      options + " }");
}

std::set<std::string> NamesOf(const Model& model) {
  std::set<std::string> names;
  for (const NamedTensor& parameter : model.Parameters()) names.insert(parameter.name);
  return names;
}

class EveryNorm : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Vit, EveryNorm,
                         ::testing::Values("", "norm: PRE", "norm: POST", "norm_epsilon: 0.01",
                                           "norm: POST norm_epsilon: 0.01", "norm_epsilon: 1e-12"));

TEST_P(EveryNorm, LogitsAreThoseOfTheFormulas) {
  const auto model = testing::MakeHashed(Small(GetParam()));
  const at::Tensor image = RandomImage(3, 32, 32, 1);
  const at::Tensor logits = *RunModel(*model, {image});
  EXPECT_LT(Difference(logits.to(at::kDouble), testing::OracleLogits(*model, image)), 2e-5);
}

TEST_P(EveryNorm, AMixedBatchGivesWhatEachImageGivesAlone) {
  const auto model = testing::MakeHashed(Small(GetParam()));
  const ImageBatch images = {RandomImage(3, 24, 24, 1), RandomImage(3, 32, 32, 2), RandomImage(3, 12, 80, 3),
                             RandomImage(3, 24, 24, 4), RandomImage(3, 35, 30, 5), RandomImage(3, 4, 4, 6)};
  const at::Tensor together = *RunModel(*model, images);
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_LT(Difference(together[i], (*RunModel(*model, {images[i]}))[0]), 1e-5) << "image " << i;
  }
}

// The two forms have different formulas, so with equal weights the logits must differ.
TEST(VitNorm, PrePostAndEpsilonAreDifferentFunctions) {
  const at::Tensor image = RandomImage(3, 32, 32, 1);
  const at::Tensor pre = *RunModel(*testing::MakeHashed(Small("")), {image});
  EXPECT_EQ(Difference(pre, *RunModel(*testing::MakeHashed(Small("norm: PRE norm_epsilon: 1e-6")), {image})), 0);
  EXPECT_GT(Difference(pre, *RunModel(*testing::MakeHashed(Small("norm: POST")), {image})), 1e-2);
  EXPECT_GT(Difference(pre, *RunModel(*testing::MakeHashed(Small("norm_epsilon: 0.01")), {image})), 1e-5);
}

TEST(VitNorm, PostHasNoLayerNormBeforeTheHead) {
  const auto pre = *MakeModel(Small(""), 0, at::kMeta), post = *MakeModel(Small("norm: POST"), 0, at::kMeta);
  std::set<std::string> expected = NamesOf(*pre);
  EXPECT_EQ(expected.erase("norm.weight") + expected.erase("norm.bias"), 2u);
  EXPECT_EQ(NamesOf(*post), expected);
}

// Expected: 3 P^2 d + d (patches) + d (class) + n d (positions) + L (12 d^2 + 13 d) + 2 d + lin(d, classes).
TEST(VitZoo, ParametersAreTheFormulas) {
  for (const ZooRow& row : Zoo()) {
    if (!row.config.has_vit() || row.config.vit().norm() == v1::VitConfig::POST) continue;
    const v1::VitConfig& vit = row.config.vit();
    const int64_t d = vit.width(), n = 1 + int64_t{vit.grid_rows()} * vit.grid_columns();
    ASSERT_EQ(vit.mlp_width(), 4 * d);
    EXPECT_EQ(row.parameters, int64_t{3} * vit.patch() * vit.patch() * d + d + d + n * d +
                                  vit.depth() * (12 * d * d + 13 * d) + 2 * d + d * row.config.classes() +
                                  row.config.classes())
        << row.name;
  }
}

TEST(VitZoo, EverySizeWithEveryPatch) {
  for (const char* size : {"ti", "s", "b", "l", "h"}) {
    for (const int patch : {14, 16, 32}) {
      const absl::StatusOr<ZooRow> row = FindVariant(std::string("vit-") + size + std::to_string(patch));
      ASSERT_TRUE(row.ok()) << row.status();
      EXPECT_EQ(row->config.vit().patch(), patch);
    }
  }
}

TEST(VitConfig, TheSmallestAndTheLargestGridsAreTaken) {
  v1::ModelConfig config = Small("");
  config.mutable_preprocessing()->mutable_native()->set_min_tokens(6);
  config.mutable_preprocessing()->mutable_native()->set_max_tokens(12);
  const std::unique_ptr<Model> model = MakeModel(config, /*seed=*/0, at::kMeta).value();
  EXPECT_TRUE(model->GridFor(12, 16).ok()) << "12 cells";
  EXPECT_TRUE(model->GridFor(8, 12).ok()) << "6 cells";
  EXPECT_FALSE(model->GridFor(4, 52).ok()) << "13 cells";
  EXPECT_FALSE(model->GridFor(4, 20).ok()) << "5 cells";
}

TEST(VitConfig, TheLargestEpsilonIsTaken) {
  EXPECT_TRUE(MakeModel(Small("norm_epsilon: 0.1"), /*seed=*/0, at::kMeta).ok());
}

TEST(VitConfig, ContradictionsNameTheField) {
  for (const auto& [change, names] : std::vector<std::pair<std::string, std::string>>{
           {"vit { heads: 5 }", "config.vit.width"},
           {"vit { depth: 0 }", "config.vit.depth is 0; it must be 1 to 256"},
           {"vit { norm: 7 }", "config.vit.norm is 7; it must be 0 to 2"},
           {"vit { norm_epsilon: -1 }", "config.vit.norm_epsilon is -1"},
           {"vit { norm_epsilon: nan }", "config.vit.norm_epsilon is nan"},
           {"vit { norm_epsilon: 0.11 }", "config.vit.norm_epsilon is 0.11; it must be 0 to 0.1"},
           {"vit { patch: 64 }", "config.preprocessing.native.cell is 4"},
           {"preprocessing { fixed { height: 3 width: 32 } }", "3x32 pixels, less than one cell of config.vit.patch"},
       }) {
    v1::ModelConfig config = Small("");
    const v1::ModelConfig changes = testing::Config(change);
    config.MergeFrom(changes);
    if (change.find("depth") != std::string::npos) config.mutable_vit()->set_depth(0);
    const absl::Status status = MakeModel(config, 0, at::kMeta).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << change;
    EXPECT_THAT(std::string(status.message()), HasSubstr(names));
  }
}

}  // namespace
}  // namespace vitrine
