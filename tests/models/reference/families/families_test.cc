// SPDX-License-Identifier: Apache-2.0
// Tests the properties that every family has, on the variants of the zoo that are small enough.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "models/families/family.h"
#include "models/reference/float_arrays.h"
#include "models/reference/model.h"
#include "models/zoo.h"
#include "tests/models/reference/images.h"
#include "tests/models/reference/oracle/oracle.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using testing::Difference;
using ::testing::HasSubstr;
using testing::RandomImage;

// Returns the largest |a - b| in units of max(1, largest |b|).
double Relative(const at::Tensor& a, const at::Tensor& b) {
  return Difference(a.to(at::kDouble), b.to(at::kDouble)) / std::max(1.0, b.abs().max().item<double>());
}

// Models that differ in the form of the config, not only in its size.
constexpr std::string_view kSmall[] = {
    "eit34-mini-cifar10",
    "eit33-mini-cifar10",
    "eit34-mini-fashion-mnist",
    "eit-p-mini-cifar10",
    "eit-t-mini-cifar10",
    "vit-mini-cifar10",
    "kv-mnist-p7-d64-l2",
    "kv-pos-mnist-p7-d64-l2",
    "qkv-mnist-p7-d64-l2",
    "kv-pos-cifar10-p4-d64-l2",
    "xcit-n12",
    "xcit-t12",
    "xcit-n12-p8",
    "xcit-n12-sne-3-layers",
    "xcit-n12-p-sne",
    "xcit-n12-f-sne-8",
    "xcit-n12-f-sne-8-wide-own-codes",
    "xvit-t",
    "xvit-t-last-axis",
    "xvit-t-softmax",
    "xvit-t-xca",
    "xvit-t-no-norm",
    "xvit-t-depthwise",
    "xvit-t-patches",
    "null",
};

// Returns kSmall, and the first variant of every family that has no message in the protocol.
std::vector<std::string_view> Small() {
  std::vector<std::string_view> names(std::begin(kSmall), std::end(kSmall));
  for (const Family& family : Families()) {
    if (family.which != v1::ModelConfig::kCustom || family.variants == nullptr) continue;
    names.push_back(FindVariant(family.variants().front().name)->name);
  }
  return names;
}

// Two blocks of each kind test as much as two dozen.
v1::ModelConfig Shortened(v1::ModelConfig config) {
  if (config.has_xcit()) config.mutable_xcit()->set_depth(2);
  if (config.has_xvit()) config.mutable_xvit()->set_depth(2);
  return config;
}

class EveryFamily : public ::testing::TestWithParam<std::string_view> {
 protected:
  EveryFamily() : model_(testing::MakeHashed(Shortened(FindVariant(GetParam())->config))) {}

  bool native() const { return model_->config().preprocessing().has_native(); }
  int channels() const { return model_->config().preprocessing().channels(); }

  // Returns an image scaled to the model: models for photographs take larger images than models for CIFAR.
  at::Tensor Sized(int height, int width, uint64_t seed) const {
    const int scale = model_->cell() >= 8 ? 4 : 1;
    return RandomImage(channels(), scale * height, scale * width, seed);
  }
  // Returns an image whose grid is the position table's.
  at::Tensor TableSized(uint64_t seed) const {
    if (native()) return Sized(32, 32, seed);
    const v1::FixedResolution& fixed = model_->config().preprocessing().fixed();
    return RandomImage(channels(), fixed.height(), fixed.height(), seed);
  }
  // Returns a batch in which sizes repeat, change and return; all sizes are equal for models that take only one.
  ImageBatch Batch() const {
    if (!native()) return {TableSized(1), TableSized(2), TableSized(3)};
    return {Sized(24, 24, 1), Sized(32, 32, 2), Sized(32, 32, 3), Sized(24, 48, 4), Sized(24, 24, 5), Sized(30, 41, 6)};
  }
  at::Tensor Run(const ImageBatch& images) const {
    absl::StatusOr<at::Tensor> logits = RunModel(*model_, images);
    EXPECT_TRUE(logits.ok()) << logits.status();
    return *logits;
  }

  std::unique_ptr<Model> model_;
};

std::string NameOf(const ::testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryFamily, ::testing::ValuesIn(Small()), NameOf);

// Families with formulas in tests/models/reference/oracle/oracle.cc.
class FamilyWithFormulas : public EveryFamily {};

INSTANTIATE_TEST_SUITE_P(Zoo, FamilyWithFormulas, ::testing::ValuesIn(kSmall), NameOf);

// Returns models that depend on the image. OfLikeBlocks returns only the models whose blocks have equal shapes (not
// EIT).
std::vector<std::string_view> Looking() {
  std::vector<std::string_view> names = Small();
  std::erase_if(names, [](std::string_view name) { return FindVariant(name)->config.has_null(); });
  return names;
}

std::vector<std::string_view> OfLikeBlocks() {
  std::vector<std::string_view> names = Looking();
  std::erase_if(names, [](std::string_view name) { return FindVariant(name)->config.has_eit(); });
  return names;
}

class FamilyThatLooks : public EveryFamily {};
class FamilyOfLikeBlocks : public EveryFamily {};

INSTANTIATE_TEST_SUITE_P(Zoo, FamilyThatLooks, ::testing::ValuesIn(Looking()), NameOf);
INSTANTIATE_TEST_SUITE_P(Zoo, FamilyOfLikeBlocks, ::testing::ValuesIn(OfLikeBlocks()), NameOf);

TEST_P(FamilyWithFormulas, LogitsAreThoseOfThePapersFormulas) {
  const at::Tensor image = TableSized(1);
  EXPECT_LT(Relative(Run({image}), testing::OracleLogits(*model_, image)), 2e-5);
}

TEST_P(EveryFamily, AnswersDoNotDependOnBatchMates) {
  const ImageBatch images = Batch();
  const at::Tensor together = Run(images);
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_LT(Relative(together[i], Run({images[i]})[0]), 1e-5) << "image " << i;
  }
}

TEST_P(EveryFamily, ReorderingTheBatchReordersTheLogits) {
  const ImageBatch images = Batch();
  ImageBatch reversed(images.rbegin(), images.rend());
  EXPECT_LT(Relative(Run(reversed).flip(0), Run(images)), 1e-5);
}

TEST_P(FamilyThatLooks, LogitsDependOnTheImage) {
  const at::Tensor logits = Run({TableSized(1), TableSized(2)});
  EXPECT_GT(Difference(logits[0], logits[1]), 1e-3);
}

TEST_P(EveryFamily, EveryParameterMatters) {
  const at::NoGradGuard no_grad;
  const at::Tensor image = TableSized(1);
  const at::Tensor before = Run({image});
  for (NamedTensor& parameter : model_->Parameters()) {
    if (parameter.name.find("map_pos.bias") != std::string::npos) continue;  // cancels in the softmax
    // adds the same value to all keys, so it also cancels
    if (parameter.name.find("attention.k.bias") != std::string::npos) continue;
    const at::Tensor saved = parameter.tensor.clone();
    parameter.tensor.add_(testing::Hashed(saved.sizes(), 9) * 0.2);
    EXPECT_GT(Difference(Run({image}), before), 1e-6) << parameter.name;
    parameter.tensor.copy_(saved);
  }
}

TEST_P(FamilyOfLikeBlocks, SwappedBlocksChangeTheLogits) {
  const at::NoGradGuard no_grad;
  const at::Tensor image = TableSized(1);
  const at::Tensor before = Run({image});
  std::map<std::string, at::Tensor> blocks[2];
  for (const NamedTensor& parameter : model_->Parameters()) {
    for (int i = 0; i < 2; ++i) {
      const std::string prefix = "blocks." + std::to_string(i) + ".";
      if (parameter.name.rfind(prefix, 0) == 0) blocks[i][parameter.name.substr(prefix.size())] = parameter.tensor;
    }
  }
  for (auto& [name, tensor] : blocks[0]) {
    const at::Tensor saved = tensor.clone();
    tensor.copy_(blocks[1].at(name));
    blocks[1].at(name).copy_(saved);
  }
  EXPECT_GT(Relative(Run({image}), before), 1e-3);
}

TEST_P(EveryFamily, InitialisationFollowsTheSeed) {
  const auto a = *MakeModel(model_->config(), 7), b = *MakeModel(model_->config(), 7),
             c = *MakeModel(model_->config(), 8);
  const auto pa = a->Parameters(), pb = b->Parameters(), pc = c->Parameters();
  bool differs = pa.empty();
  for (size_t i = 0; i < pa.size(); ++i) {
    EXPECT_EQ(Difference(pa[i].tensor, pb[i].tensor), 0) << pa[i].name;
    differs = differs || Difference(pa[i].tensor, pc[i].tensor) > 0;
  }
  EXPECT_TRUE(differs);
}

// Executors share a model: each runs its own batches concurrently, including grids that are new to the model.
TEST_P(EveryFamily, ThreadsMayShareAModel) {
  const ImageBatch images = Batch();
  const at::Tensor expected = Run(images);
  std::vector<at::Tensor> answers(4);
  {
    const auto fresh = testing::MakeHashed(model_->config());
    std::vector<std::jthread> threads;
    for (at::Tensor& answer : answers) {
      threads.emplace_back([&] {
        at::set_num_threads(1);
        answer = *RunModel(*fresh, images);
      });
    }
  }
  for (const at::Tensor& answer : answers) EXPECT_EQ(Difference(answer, expected), 0);
}

// Devices other than the CPU use library calls instead of our loops. This test runs both and compares their logits.
TEST_P(EveryFamily, LibraryCallsGiveTheSameLogits) {
  const ImageBatch images = Batch();
  const at::NoGradGuard no_grad;
  ForwardContext context;
  context.library_only = true;
  EXPECT_LT(Relative(model_->Forward(images, context), Run(images)), 1e-5);
  context.bf16 = true;
  EXPECT_LT(Relative(model_->Forward(images, context), Run(images)), 0.05);
}

TEST_P(EveryFamily, AttentionOfAnImageIsThatOfTheImageAlone) {
  const AttentionAbility ability = model_->attention();
  const ImageBatch images = Batch();
  const int last = static_cast<int>(images.size()) - 1;
  AttentionTap crowded, alone;
  for (const AttentionAbility::Offer& offer : ability.offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      crowded.Request(last, offer.source, layer);
      alone.Request(0, offer.source, layer);
    }
  }
  const at::Tensor logits = *RunModel(*model_, images, &crowded);
  EXPECT_EQ(Difference(logits, Run(images)), 0) << "watching moved the logits";
  ASSERT_TRUE(RunModel(*model_, {images[last]}, &alone).ok());
  using Matrices = AttentionTap::Matrices;
  for (const AttentionAbility::Offer& offer : ability.offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      const Matrices* matrices = crowded.Find(last, offer.source, layer);
      const Matrices* expected = alone.Find(0, offer.source, layer);
      ASSERT_TRUE(matrices != nullptr && expected != nullptr);
      EXPECT_FALSE(matrices->weights.empty() && matrices->queries.empty());
      for (const auto member : {&Matrices::scores, &Matrices::weights, &Matrices::queries, &Matrices::keys}) {
        ASSERT_EQ((matrices->*member).shape, (expected->*member).shape);
        if ((matrices->*member).empty()) continue;
        EXPECT_EQ((matrices->*member).shape[0], offer.heads);
        EXPECT_LT(Relative(TensorOf(matrices->*member), TensorOf(expected->*member)),
                  member == &Matrices::weights ? 1e-5 : 1e-4);
      }
    }
  }
}

TEST_P(EveryFamily, RefusesWhatItCannotTake) {
  EXPECT_EQ(RunModel(*model_, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunModel(*model_, {RandomImage(4 - channels(), 32, 32, 1)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(FamilyThatLooks, RefusesSizesThatItCannotTake) {
  const absl::Status status = RunModel(*model_, {RandomImage(channels(), 8, 8, 1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("8x8"), HasSubstr("this model takes")));
  const at::Tensor good = TableSized(1), flat = RandomImage(channels(), 1, static_cast<int>(good.size(2)), 2);
  EXPECT_EQ(RunModel(*model_, {good, flat}).status().code(), absl::StatusCode::kInvalidArgument) << "the second";
}

// Dropout acts only in training, depends on its seed, and keeps the expectation.
TEST(Dropout, IsRepeatableAndOnlyInTraining) {
  const auto model = testing::MakeHashed(FindVariant("eit34-mini-cifar10")->config);
  const at::NoGradGuard no_grad;
  const ImageBatch images{RandomImage(3, 32, 32, 1)};
  ForwardContext context;
  context.dropout = DropRates::Uniform(0.2F);
  const at::Tensor still = model->Forward(images, context);
  EXPECT_EQ(Difference(still, model->Forward(images, {})), 0);
  context.training = true;
  context.dropout_seed = 1;
  const at::Tensor first = model->Forward(images, context);
  EXPECT_EQ(Difference(first, model->Forward(images, context)), 0);
  EXPECT_GT(Difference(first, still), 1e-3);
  context.dropout_seed = 2;
  EXPECT_GT(Difference(first, model->Forward(images, context)), 1e-3);
}

TEST(Bf16, MovesLogitsALittle) {
  const auto model = testing::MakeHashed(FindVariant("eit34-mini-cifar10")->config);
  const at::NoGradGuard no_grad;
  const ImageBatch images{RandomImage(3, 32, 32, 1), RandomImage(3, 24, 40, 2)};
  ForwardContext context;
  const at::Tensor exact = model->Forward(images, context);
  context.bf16 = true;
  const at::Tensor rounded = model->Forward(images, context);
  EXPECT_GT(Difference(rounded, exact), 0);
  EXPECT_LT(Relative(rounded, exact), 0.05);
}

}  // namespace
}  // namespace vitrine
