// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/optimizer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include "models/reference/checkpoint/stored_tensors.h"
#include "models/reference/model.h"
#include "models/repository/foreign/import.h"
#include "tests/paths.h"
#include "trainer/optimise/block_norms.h"
#include "trainer/optimise/blocks.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

at::Tensor Parameter(at::IntArrayRef shape, double value, double gradient) {
  at::Tensor tensor = at::full(shape, value, at::kFloat);
  tensor.set_requires_grad(true);
  tensor.mutable_grad() = at::full(shape, gradient, at::kFloat);
  return tensor;
}

v1::Optimizer Settings(v1::Optimizer::Kind kind) {
  v1::Optimizer settings;
  settings.set_kind(kind);
  settings.set_weight_decay(0.5);
  settings.set_momentum(0.9);
  return settings;
}

TEST(Optimizer, AdamWFollowsItsFormula) {
  const at::Tensor matrix = Parameter({1, 1}, 2.0, 0.1), bias = Parameter({1}, 2.0, 0.1);
  Optimizer optimizer(Settings(v1::Optimizer::ADAMW), {{"w", matrix, /*decays=*/true}, {"b", bias}});
  double w = 2, b = 2, m = 0, v = 0;
  for (int t = 1; t <= 3; ++t) {
    const double g = 0.1 * t;
    matrix.mutable_grad().fill_(g);
    bias.mutable_grad().fill_(g);
    optimizer.Step(0.01);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double update = 0.01 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    w = w * (1 - 0.01 * 0.5) - update;
    b -= update;
    EXPECT_NEAR(matrix.item<double>(), w, 1e-6) << "step " << t;
    EXPECT_NEAR(bias.item<double>(), b, 1e-6) << "a bias does not decay; step " << t;
  }
}

TEST(BlockNorms, CoverAllParametersOfABlock) {
  const at::Tensor without = at::full({3}, 1.0, at::kFloat);
  const std::vector<NamedTensor> parameters = {
      {"patches.weight", Parameter({1}, 0, 100)}, {"blocks.0.fc.weight", Parameter({3, 3}, 0, 1)},
      {"blocks.0.fc.bias", Parameter({4}, 0, 2)}, {"blocks.10.fc.bias", Parameter({1}, 0, -7)},
      {"class_blocks.0.fc.bias", without},        {"encoder.blocks.1.fc.bias", Parameter({1}, 0, 0.5)}};
  EXPECT_THAT(BlocksOf(parameters), ElementsAre("blocks.0", "blocks.10", "class_blocks.0", "encoder.blocks.1"));
  EXPECT_THAT(BlockNorms(parameters), ElementsAre(5, 7, 0, 0.5));
}

TEST(Optimizer, SgdFollowsItsFormula) {
  for (const double momentum : {0.0, 0.9}) {
    const at::Tensor matrix = Parameter({1, 1}, 2.0, 0.1);
    v1::Optimizer settings = Settings(v1::Optimizer::SGD);
    settings.set_momentum(momentum);
    Optimizer optimizer(settings, {{"w", matrix, /*decays=*/true}});
    double w = 2, velocity = 0;
    for (int t = 1; t <= 3; ++t) {
      matrix.mutable_grad().fill_(0.1);
      optimizer.Step(0.01);
      velocity = momentum * velocity + 0.1 + 0.5 * w;
      w -= 0.01 * velocity;
      EXPECT_NEAR(matrix.item<double>(), w, 1e-6) << "momentum " << momentum << ", step " << t;
    }
  }
}

TEST(Optimizer, EachParameterHasItsOwnRate) {
  for (const auto kind : {v1::Optimizer::ADAMW, v1::Optimizer::ADAM, v1::Optimizer::SGD}) {
    const at::Tensor slow = Parameter({1, 1}, 2.0, 0.1), reference = Parameter({1, 1}, 2.0, 0.1);
    NamedTensor with_rate{"slow", slow, /*decays=*/true};
    with_rate.rate = 0.25;
    const at::Tensor other = Parameter({1, 1}, 2.0, 0.1);
    Optimizer optimizer(Settings(kind), {with_rate, {"other", other, /*decays=*/true}});
    Optimizer quarter(Settings(kind), {{"reference", reference, /*decays=*/true}});
    for (int t = 1; t <= 3; ++t) {
      optimizer.Step(0.1);
      quarter.Step(0.025);
    }
    EXPECT_EQ(slow.item<float>(), reference.item<float>()) << kind;
    EXPECT_LT(other.item<float>(), slow.item<float>()) << kind;
  }
}

TEST(Optimizer, ParametersWithoutGradientDoNotChange) {
  const at::Tensor with = Parameter({2, 2}, 1, 0.1), without = Parameter({2, 2}, 1, 0.1);
  without.mutable_grad().reset();
  for (const auto kind : {v1::Optimizer::ADAMW, v1::Optimizer::SGD}) {
    Optimizer optimizer(Settings(kind), {{"a", with}, {"b", without}});
    optimizer.Step(0.1);
    EXPECT_EQ(without.sum().item<double>(), 4);
  }
  EXPECT_NE(with.sum().item<double>(), 4);
}

TEST(Optimizer, ClipsToTheNormOverAllParameters) {
  const at::Tensor a = Parameter({1}, 0, 3), b = Parameter({1}, 0, 4);
  Optimizer optimizer(Settings(v1::Optimizer::SGD), {{"a", a}, {"b", b}});
  EXPECT_NEAR(optimizer.ClipGradients(10), 5, 1e-6);
  EXPECT_FLOAT_EQ(a.grad().item<float>(), 3) << "below the limit nothing changes";
  EXPECT_NEAR(optimizer.ClipGradients(1), 5, 1e-6);
  EXPECT_NEAR(a.grad().item<double>(), 0.6, 1e-6);
  EXPECT_NEAR(b.grad().item<double>(), 0.8, 1e-6);
}

std::set<std::string> DecayedBy(const v1::Optimizer& settings, const Model& model) {
  const std::vector<std::string> names = Optimizer(settings, model.Parameters()).Decayed();
  return {names.begin(), names.end()};
}

// tests/oracle/decayed.py records which parameters are decayed by the rule in the programs of XCiT and DeiT.
TEST(Optimizer, DecaysTheSameParametersAsTimm) {
  std::ifstream file(VITRINE_SOURCE "/tests/golden/decayed.txt");
  std::map<std::string, std::set<std::string>> expected;
  for (std::string arch, name; file >> arch >> name;) expected[arch].insert(name);
  ASSERT_EQ(expected.size(), 2u);
  for (const auto& [arch, names] : expected) {
    const v1::ModelConfig config = *ForeignConfig(ForeignSource::kTimm, arch, 1000);
    const std::unique_ptr<Model> model = *MakeModel(config);
    const std::set<std::string> decayed = DecayedBy(Settings(v1::Optimizer::ADAMW), *model);
    // Fills decayed parameters with ones and other parameters with zeros. A parameter keeps its values when it is
    // renamed to timm's name.
    TensorMap marks;
    for (const NamedTensor& each : model->Parameters()) {
      marks[each.name] = StoredOf(at::full(each.tensor.sizes(), decayed.contains(each.name) ? 1 : 0, at::kFloat));
    }
    for (const NamedTensor& each : model->Buffers()) marks[each.name] = StoredOf(each.tensor);
    const absl::StatusOr<TensorMap> renamed = ForeignTensors(ForeignSource::kTimm, config, marks);
    ASSERT_TRUE(renamed.ok()) << renamed.status();
    std::set<std::string> found;
    for (const auto& [name, tensor] : *renamed) {
      const at::Tensor values = TensorOf(tensor);
      if (name.find("running_") == std::string::npos && values.min().item<double>() == 1) found.insert(name);
    }
    EXPECT_EQ(found, names) << arch;
  }
}

TEST(Optimizer, DecaysAllOnRequest) {
  const std::unique_ptr<Model> model = *MakeModel(*ForeignConfig(ForeignSource::kTimm, "vit_tiny_patch16_224", 10));
  v1::Optimizer settings = Settings(v1::Optimizer::ADAMW);
  EXPECT_LT(DecayedBy(settings, *model).size(), model->Parameters().size());
  settings.set_decays_all(true);
  EXPECT_EQ(DecayedBy(settings, *model).size(), model->Parameters().size());
}

TEST(Optimizer, AScheduleCanReplaceBeta1) {
  const at::Tensor weight = Parameter({1, 1}, 2.0, 0.1);
  v1::Optimizer settings = Settings(v1::Optimizer::ADAMW);
  settings.set_weight_decay(0);
  Optimizer optimizer(settings, {{"w", weight}});
  double w = 2, m = 0, v = 0;
  for (int t = 1; t <= 3; ++t) {
    const double beta1 = 0.95 - 0.05 * t, g = 0.1 * t;
    weight.mutable_grad().fill_(g);
    optimizer.Step(0.01, beta1);
    m = beta1 * m + (1 - beta1) * g;
    v = 0.999 * v + 0.001 * g * g;
    w -= 0.01 * (m / (1 - std::pow(beta1, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    EXPECT_NEAR(weight.item<double>(), w, 1e-6) << "step " << t;
  }
}

}  // namespace
}  // namespace vitrine
