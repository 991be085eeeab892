// SPDX-License-Identifier: Apache-2.0
// Tests which operators may run in bf16 or int8, and the functions that select the operators to keep in a higher
// precision.
#include "models/tool/publish/kept_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/model_description.h"
#include "models/program/readers.h"
#include "models/zoo/small_forms.h"

namespace vitrine::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const double kNotANumber = std::numeric_limits<double>::quiet_NaN();

TEST(NarrowableOperators, NamesEveryProductOfEveryFamilyOnce) {
  for (const SmallForm& form : SmallForms()) {
    const auto model = ModelDescription::Make(form.config);
    ASSERT_TRUE(model.ok()) << form.name << ": " << model.status();
    std::multiset<std::string> named, expected;
    bool pools = false;
    for (const program::Operator& op : model->program().operators()) {
      const auto* convolve = op.As<program::Convolve>();
      pools |= convolve != nullptr && convolve->pool > 0;
    }
    const program::SingleReaderIndex readers(model->program());
    for (const program::Operator& op : model->program().operators()) {
      const auto* grid = op.As<program::ConvolveGrid>();
      const bool of_grid = grid != nullptr && (!grid->depthwise || readers.GeluAfter(&op) != nullptr);
      const bool of_images = op.As<program::Convolve>() != nullptr && !pools;
      const auto* attend = op.As<program::Attend>();
      const bool attends = attend != nullptr ? !attend->class_query : op.As<program::AttendChannels>() != nullptr;
      if (of_grid || of_images || attends || op.As<program::Linear>() != nullptr) expected.insert(op.name);
    }
    for (const OperatorGroup& group : NarrowableOperators(model->program())) {
      EXPECT_THAT(group, ::testing::Not(IsEmpty())) << form.name;
      named.insert(group.begin(), group.end());
    }
    EXPECT_EQ(named, expected) << form.name;
  }
}

// Operators that are computed as one matrix product must be in one group, because the engine checks only the first
// operator.
TEST(NarrowableOperators, OperatorsOfOneProductAreOneGroup) {
  int stems = 0, shared = 0;
  for (const SmallForm& form : SmallForms()) {
    const ModelDescription model = *ModelDescription::Make(form.config);
    std::map<std::string, const program::Operator*> operators;
    for (const program::Operator& op : model.program().operators()) operators[op.name] = &op;
    int of_images = 0;
    for (const OperatorGroup& group : NarrowableOperators(model.program())) {
      const program::Operator& first = *operators.at(group[0]);
      of_images += first.As<program::Convolve>() != nullptr ? 1 : 0;
      for (const std::string& name : group) {
        EXPECT_EQ(operators.at(name)->settings.index(), first.settings.index()) << form.name << " " << name;
        if (first.As<program::Linear>() == nullptr) continue;
        EXPECT_EQ(operators.at(name)->weights[0], first.weights[0]) << form.name << " " << name;
        EXPECT_EQ(operators.at(name)->inputs[0], first.inputs[0]) << form.name << " " << name;
        shared += name != group[0] ? 1 : 0;
      }
    }
    EXPECT_LE(of_images, 1) << form.name;
    stems += of_images;
  }
  EXPECT_GT(stems, 0);
  EXPECT_GT(shared, 0);
}

TEST(SortByError, OrdersByErrorAndThenByProgramOrder) {
  EXPECT_THAT(SortByError(std::vector<double>{0.1, 0.3, 0.1, 0.2}), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(SortByError(std::vector<double>{}), IsEmpty());
}

TEST(SortByError, NanCountsAsTheLargestError) {
  EXPECT_THAT(SortByError(std::vector<double>{0.5, kNotANumber, 0.7}), ElementsAre(1, 2, 0));
}

TEST(KeepNext, DoublesUpToTheMaximum) {
  std::vector<size_t> kept = {0};
  while (kept.back() < 11) kept.push_back(KeepNext(kept.back(), 11));
  EXPECT_THAT(kept, ElementsAre(0, 1, 2, 4, 8, 11));
  EXPECT_EQ(KeepNext(11, 11), 11u);
  EXPECT_EQ(KeepNext(0, 0), 0u);
}

TEST(OperatorsAt, ReturnsTheOperatorsOfTheGroups) {
  const std::vector<OperatorGroup> groups = {{"stem.0", "stem.1"}, {"qkv"}, {"fc1"}};
  EXPECT_THAT(OperatorsAt(groups, std::vector<size_t>{2, 0}), ElementsAre("fc1", "stem.0", "stem.1"));
  EXPECT_THAT(OperatorsAt(groups, std::vector<size_t>{}), IsEmpty());
  EXPECT_THAT(OperatorsExcept(groups, 1), ElementsAre("fc1", "stem.0", "stem.1"));
  EXPECT_THAT(OperatorsExcept(groups, 0), ElementsAre("fc1", "qkv"));
}

TEST(RelativeError, IsRelativeToTheReference) {
  using Floats = std::vector<float>;
  EXPECT_DOUBLE_EQ(RelativeError(Floats{3, 4}, Floats{3, 4}), 0);
  EXPECT_DOUBLE_EQ(RelativeError(Floats{3, 5}, Floats{3, 4}), 0.2);
  EXPECT_DOUBLE_EQ(RelativeError(Floats{0, 0}, Floats{0, 0}), 0);
  EXPECT_EQ(RelativeError(Floats{1, 0}, Floats{0, 0}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(RelativeError(Floats{static_cast<float>(kNotANumber), 0}, Floats{1, 1}),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace vitrine::testing
