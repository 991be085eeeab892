// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/full_like.h>
#include <gtest/gtest.h>

#include "models/reference/model.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

// BatchNorm's statistics belong to the weights that produced them. Averaged weights with the statistics of the last
// weights would be a model that was never trained.
TEST(WeightAverage, AlsoAveragesBatchNormStatistics) {
  const at::AutoGradMode no_grad(false);
  const v1::ModelConfig config = FindVariant("eit34-mini-bn-relu-cifar10")->config;
  const std::unique_ptr<Model> model = *MakeModel(config, 1);
  ASSERT_FALSE(model->Buffers().empty());
  for (const NamedTensor& buffer : model->Buffers()) buffer.tensor.fill_(1);
  WeightAverage average(*model, *MakeModel(config, 2), 0.9);
  for (const NamedTensor& buffer : model->Buffers()) buffer.tensor.fill_(3);
  average.Update();
  for (const NamedTensor& buffer : average.module().Buffers()) {
    ASSERT_TRUE(buffer.tensor.is_floating_point()) << buffer.name;
    EXPECT_TRUE(at::allclose(buffer.tensor, at::full_like(buffer.tensor, 1.2))) << buffer.name;
  }
}

}  // namespace
}  // namespace vitrine
