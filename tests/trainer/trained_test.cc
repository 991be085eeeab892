// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/trained.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/foreign/import.h"
#include "tests/paths.h"
#include "tests/trainer/coloured_squares.h"
#include "trainer/tasks/image_task.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

const ColouredSquares kSquares(24, 1);

class TrainedParametersTest : public ::testing::Test {
 protected:
  void Rate(const std::string& pattern, double multiplier) {
    v1::RateByPattern& rate = *settings_.add_rate_by_pattern();
    rate.set_pattern(pattern);
    rate.set_multiplier(multiplier);
  }
  absl::StatusOr<std::vector<NamedTensor>> Parameters() const { return TrainedParameters(settings_, *task_, *model_); }
  std::string Fault() const { return std::string(Parameters().status().message()); }

  const std::unique_ptr<ImageTask> task_ = *ImageTask::Make(SmallRecipe(), kSquares, nullptr);
  const std::unique_ptr<Module> model_ = *task_->MakeModel();
  v1::Optimizer settings_;
};

TEST_F(TrainedParametersTest, HaveTheFullRateWithoutPatterns) {
  const auto parameters = *Parameters();
  EXPECT_EQ(parameters.size(), model_->Parameters().size());
  for (const NamedTensor& parameter : parameters) EXPECT_EQ(parameter.rate, 1) << parameter.name;
  EXPECT_EQ(FrozenInWords(*model_, parameters), "");
}

TEST_F(TrainedParametersTest, UseTheFirstMatchingPattern) {
  Rate("blocks.[0-0].*", 0);
  Rate("*.bias", 0.5);
  Rate("blocks.*", 2);
  const auto parameters = *Parameters();
  for (const NamedTensor& parameter : parameters) {
    EXPECT_FALSE(parameter.name.starts_with("blocks.0.")) << parameter.name;
    const double other = parameter.name.starts_with("blocks.") ? 2 : 1;
    EXPECT_EQ(parameter.rate, parameter.name.ends_with(".bias") ? 0.5 : other) << parameter.name;
  }
  EXPECT_LT(parameters.size(), model_->Parameters().size());
}

TEST_F(TrainedParametersTest, CountFrozenParameters) {
  Rate("blocks.*", 0);
  int64_t in_blocks = 0, all = 0;
  for (const NamedTensor& parameter : model_->Parameters()) {
    all += parameter.tensor.numel();
    if (parameter.name.starts_with("blocks.")) in_blocks += parameter.tensor.numel();
  }
  EXPECT_THAT(FrozenInWords(*model_, *Parameters()),
              HasSubstr(absl::StrCat("frozen: ", in_blocks, " of ", all, " parameters")));
}

TEST_F(TrainedParametersTest, RefuseAPatternWithoutEffect) {
  Rate("bloks.*", 0);
  EXPECT_EQ(Parameters().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Fault(), HasSubstr("optimizer.rate_by_pattern: \"bloks.*\" matches no parameter"));
  settings_.clear_rate_by_pattern();
  Rate("blocks.*", 0.5);
  Rate("blocks.0.*", 0);
  EXPECT_THAT(Fault(), HasSubstr("\"blocks.0.*\" matches no parameter that no earlier pattern matches"));
}

TEST_F(TrainedParametersTest, RefuseFreezingEverything) {
  Rate("*", 0);
  EXPECT_THAT(Fault(), HasSubstr("freezes every parameter"));
}

TEST_F(TrainedParametersTest, MultiplyLayerDecayAndPatterns) {
  Rate("head.*", 3);
  settings_.set_layer_decay(0.5);
  const auto parameters = *Parameters();
  for (const NamedTensor& parameter : parameters) {
    const double expected = parameter.name.starts_with("head.") ? 3 : parameter.name.starts_with("norm.") ? 0.5 : 0;
    if (expected > 0) {
      EXPECT_EQ(parameter.rate, expected) << parameter.name;
    }
  }
}

// tests/oracle/layer_decay.py records timm's multipliers.
TEST_F(TrainedParametersTest, UseTheLayerDecayOfTimm) {
  std::ifstream file(VITRINE_SOURCE "/tests/golden/layer_decay.txt");
  std::map<std::string, std::map<std::string, double>> expected;
  std::string arch, name;
  for (double rate = 0; file >> arch >> name >> rate;) expected[arch][name] = rate;
  ASSERT_EQ(expected.size(), 2u);
  settings_.set_layer_decay(0.75);
  for (const auto& [architecture, rates] : expected) {
    const v1::ModelConfig config = *ForeignConfig(ForeignSource::kTimm, architecture, 1000);
    const std::unique_ptr<Model> model = *MakeModel(config);
    // Fills each parameter with its multiplier. A parameter keeps its values when it is renamed to timm's name.
    TensorMap marks;
    const auto parameters = *TrainedParameters(settings_, *task_, *model);
    for (const NamedTensor& each : parameters) {
      marks[each.name] = StoredOf(at::full(each.tensor.sizes(), each.rate, at::kFloat));
    }
    for (const NamedTensor& each : model->Buffers()) marks[each.name] = StoredOf(each.tensor);
    const absl::StatusOr<TensorMap> renamed = ForeignTensors(ForeignSource::kTimm, config, marks);
    ASSERT_TRUE(renamed.ok()) << renamed.status();
    for (const auto& [parameter, rate] : rates) {
      ASSERT_TRUE(renamed->contains(parameter)) << parameter;
      const at::Tensor values = TensorOf(renamed->at(parameter));
      EXPECT_FLOAT_EQ(values.min().item<float>(), static_cast<float>(rate)) << parameter;
      EXPECT_FLOAT_EQ(values.max().item<float>(), static_cast<float>(rate)) << parameter;
    }
  }
}

}  // namespace
}  // namespace vitrine
