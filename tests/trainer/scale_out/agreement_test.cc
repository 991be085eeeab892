// SPDX-License-Identifier: Apache-2.0
#include "trainer/scale_out/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/reference/model.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Model> OfTheZoo(const char* name) {
  const auto variant = FindVariant(name);
  EXPECT_TRUE(variant.ok()) << variant.status();
  auto model = MakeModel(variant->config);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(CheckParallel, BatchNormIsRefusedWithSeveralProcesses) {
  const auto xcit = OfTheZoo("xcit-n12-f-sne-16");
  EXPECT_TRUE(CheckParallel(*xcit, 1).ok());
  const absl::Status refused = CheckParallel(*xcit, 2);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("layers of BatchNorm"));
  EXPECT_THAT(refused.message(), HasSubstr("running_mean"));
  EXPECT_THAT(refused.message(), HasSubstr("2 processes"));
}

TEST(CheckParallel, ModelsWithoutBatchNormAreAccepted) {
  EXPECT_TRUE(CheckParallel(*OfTheZoo("eit33-tiny-cifar10"), 8).ok());
}

}  // namespace
}  // namespace vitrine
