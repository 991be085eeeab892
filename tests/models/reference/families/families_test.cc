// SPDX-License-Identifier: Apache-2.0
// Tests the properties that every form of every family has. parity_test compares the forms' logits with independent
// implementations.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "models/families/family.h"
#include "models/reference/float_arrays.h"
#include "models/reference/model.h"
#include "models/zoo.h"
#include "models/zoo/small_forms.h"
#include "tests/models/reference/images.h"

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

// Returns the small forms, the null model, and the first variant of every family with a CustomConfig.
std::vector<SmallForm> Forms() {
  std::vector<SmallForm> forms = SmallForms();
  for (const std::vector<SmallForm>& more : {SmallPrefixForms(), SmallKvForms()}) {
    forms.insert(forms.end(), more.begin(), more.end());
  }
  forms.push_back({"null", FindVariant("null")->config, 224, 224});
  for (const Family& family : Families()) {
    if (family.which != v1::ModelConfig::kCustom || family.variants == nullptr) continue;
    const ZooRow row = family.variants().front();
    forms.push_back({std::string(row.name), row.config, 32, 32});
  }
  return forms;
}

class EveryFamily : public ::testing::TestWithParam<SmallForm> {
 protected:
  EveryFamily() : model_(testing::MakeHashed(GetParam().config)) {}

  bool native() const { return model_->config().preprocessing().has_native(); }
  int channels() const { return model_->config().preprocessing().channels(); }
  // Returns an image with `rows` times the form's height and `columns` times its width.
  at::Tensor Sized(int rows, int columns, uint64_t seed) const {
    return RandomImage(channels(), rows * GetParam().height, columns * GetParam().width, seed);
  }
  // Returns a batch in which some images have the same size: two neighbours, and two images that are separated by
  // images of other sizes. If the model takes only one size, all images have this size.
  ImageBatch Batch() const {
    if (!native()) return {Sized(1, 1, 1), Sized(1, 1, 2), Sized(1, 1, 3)};
    const at::Tensor odd = RandomImage(channels(), GetParam().height + 3, GetParam().width + 5, 6);
    return {Sized(1, 1, 1), Sized(2, 1, 2), Sized(2, 1, 3), Sized(1, 2, 4), Sized(1, 1, 5), odd};
  }
  at::Tensor Run(const ImageBatch& images) const {
    absl::StatusOr<at::Tensor> logits = RunModel(*model_, images);
    EXPECT_TRUE(logits.ok()) << logits.status();
    return *logits;
  }

  std::unique_ptr<Model> model_;
};

INSTANTIATE_TEST_SUITE_P(Forms, EveryFamily, ::testing::ValuesIn(Forms()), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST_P(EveryFamily, LogitsDoNotDependOnTheBatch) {
  const ImageBatch images = Batch();
  const at::Tensor together = Run(images);
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_LT(Relative(together[i], Run({images[i]})[0]), 1e-5) << "image " << i;
  }
}

// Several threads may run one model at the same time, even on images of a size that the model has never processed.
TEST_P(EveryFamily, ThreadsCanShareAModel) {
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

TEST_P(EveryFamily, AttentionDoesNotDependOnTheBatch) {
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

// Checks that a small step against the gradient lowers the loss as predicted, and that every parameter has a gradient.
// In training, the gradient includes the path through the batch's statistics.
TEST_P(EveryFamily, EveryParameterHasACorrectGradient) {
  if (model_->Parameters().empty()) return;
  // These blocks convolve only patch tokens, which no later operator reads.
  const std::string unread = GetParam().name == "baseline_lsra"  ? "blocks.1.convolution."
                             : GetParam().name == "eit_parallel" ? "blocks.2.convolution."
                                                                 : "-";
  const ImageBatch images = Batch();
  for (const bool training : {true, false}) {
    testing::HashWeights(*model_);
    model_->RequireGrad(true);
    for (const NamedTensor& parameter : model_->Parameters()) parameter.tensor.mutable_grad().reset();
    ForwardContext context;
    context.training = training;
    const at::Tensor first = model_->Forward(images, context), direction = testing::Hashed(first.sizes(), 7);
    const at::Tensor before = (first * direction).sum();
    before.backward();
    double slope = 0;
    for (const NamedTensor& parameter : model_->Parameters()) {
      ASSERT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
      const double largest = parameter.tensor.grad().abs().max().item<double>();
      if (absl::StrContains(parameter.name, "map_pos.bias") || parameter.name.starts_with(unread)) {
        EXPECT_EQ(largest, 0) << parameter.name << " cancels in the softmax, or is not read";
      } else if (absl::StrContains(parameter.name, "attention.k.bias")) {
        EXPECT_LT(largest, 1e-5) << "a bias that all keys share cancels in the softmax";
      } else {
        EXPECT_GT(largest, 1e-7) << parameter.name;
      }
      slope += parameter.tensor.grad().pow(2).sum().item<double>();
    }
    const double step = 1e-4 / std::sqrt(slope);
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : model_->Parameters()) {
      at::Tensor(parameter.tensor).sub_(parameter.tensor.grad() * step);
    }
    const double after = (model_->Forward(images, context) * direction).sum().item<double>();
    EXPECT_NEAR((before.item<double>() - after) / (slope * step), 1, 0.15) << "training: " << training;
  }
}

TEST_P(EveryFamily, RefusesImagesItCannotProcess) {
  const absl::Status none = RunModel(*model_, {}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kInvalidArgument);
  const absl::Status other = RunModel(*model_, {RandomImage(4 - channels(), 32, 32, 1)}).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  if (model_->config().has_null()) return;
  const v1::NativeResolution& sizes = model_->config().preprocessing().native();
  const int height = native() ? sizes.cell() : GetParam().height + 1;
  const int width = native() ? (sizes.max_tokens() + 1) * sizes.cell() : GetParam().width;
  const absl::Status status = RunModel(*model_, {Sized(1, 1, 1), RandomImage(channels(), height, width, 1)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat(height, "x", width)), HasSubstr("this model takes")));
}

TEST(GridFor, AcceptsTheSmallestAndTheLargestGrids) {
  v1::ModelConfig config = SmallForms()[0].config;  // a ViT with cells of 4 pixels
  config.mutable_preprocessing()->mutable_native()->set_min_tokens(6);
  config.mutable_preprocessing()->mutable_native()->set_max_tokens(12);
  const std::unique_ptr<Model> model = MakeModel(config, /*seed=*/0, at::kMeta).value();
  EXPECT_TRUE(model->GridFor(12, 16).ok()) << "12 cells";
  EXPECT_TRUE(model->GridFor(8, 12).ok()) << "6 cells";
  EXPECT_FALSE(model->GridFor(4, 52).ok()) << "13 cells";
  EXPECT_FALSE(model->GridFor(4, 20).ok()) << "5 cells";
}

}  // namespace
}  // namespace vitrine
