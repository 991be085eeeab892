// SPDX-License-Identifier: Apache-2.0
// Tests the dropout of single values, of attention weights, and of whole residual branches in training.
#include "models/reference/operators/dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "models/reference/model.h"
#include "models/reference/operators/attention/attention.h"
#include "models/zoo.h"
#include "models/zoo/small_forms.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;
using testing::RandomImage;

ForwardContext Training(uint64_t seed = 0) {
  ForwardContext context;
  context.training = true;
  context.dropout_seed = seed;
  return context;
}

ForwardContext DroppingPaths(float rate, uint64_t seed = 0) {
  ForwardContext context = Training(seed);
  context.drop_path = rate;
  return context;
}

// Returns the factors by which DropPath multiplies the branches of `images` images.
std::vector<float> Factors(int images, int site, const ForwardContext& context) {
  const at::Tensor factors = DropPath(at::ones({images}), site, context);
  return {factors.const_data_ptr<float>(), factors.const_data_ptr<float>() + images};
}

double Correlation(const std::vector<float>& a, const std::vector<float>& b, size_t lag = 0) {
  const size_t n = std::min(a.size(), b.size()) - lag;
  double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < n; ++i) ma += a[i] / n, mb += b[i + lag] / n;
  for (size_t i = 0; i < n; ++i) {
    const double x = a[i] - ma, y = b[i + lag] - mb;
    ab += x * y, aa += x * x, bb += y * y;
  }
  return ab / std::sqrt(aa * bb);
}

TEST(DropPath, HasNoEffectAtRateZeroOrInEvaluation) {
  const at::Tensor x = Hashed({6, 3}, 1);
  const PackedTokens packed{x, TokenLayout::Make({{1, 2}, {2, 2}}, 0)};
  ForwardContext still = DroppingPaths(0.5F);
  still.training = false;
  for (const ForwardContext& context : {Training(), still}) {
    EXPECT_TRUE(DropPath(x, 0, context).is_same(x));
    EXPECT_TRUE(DropPath(packed, 0, context).is_same(x));
  }
}

TEST(DropPath, KeepsTheExpectation) {
  constexpr int kImages = 40000;
  for (const float rate : {0.05F, 0.3F, 0.8F}) {
    const std::vector<float> factors = Factors(kImages, 3, DroppingPaths(rate, 7));
    double mean = 0;
    int dropped = 0;
    for (const float factor : factors) {
      EXPECT_TRUE(factor == 0 || std::abs(factor - 1 / (1 - rate)) < 1e-5);
      mean += factor / kImages;
      dropped += factor == 0;
    }
    const double deviation = std::sqrt(rate * (1 - rate) / kImages);
    EXPECT_NEAR(static_cast<double>(dropped) / kImages, rate, 4 * deviation);
    EXPECT_NEAR(mean, 1, 4 * deviation / (1 - rate));
  }
}

TEST(DropPath, ImagesSitesAndSeedsAreIndependent) {
  constexpr int kImages = 40000;
  const double bound = 4 / std::sqrt(kImages);
  const std::vector<float> factors = Factors(kImages, 3, DroppingPaths(0.5F, 7));
  EXPECT_LT(std::abs(Correlation(factors, factors, 1)), bound) << "neighbours";
  for (const int site : {4, 5, 7, 3 + (1 << 8)}) {
    EXPECT_LT(std::abs(Correlation(factors, Factors(kImages, site, DroppingPaths(0.5F, 7)))), bound) << site;
  }
  for (const uint64_t seed : {8, 6, 1007}) {
    EXPECT_LT(std::abs(Correlation(factors, Factors(kImages, 3, DroppingPaths(0.5F, seed)))), bound) << seed;
  }
}

// In a batch of several image sizes, all tokens of an image share one decision, including the class token.
TEST(DropPath, DecidesOncePerImageOfAPackedBatch) {
  std::vector<Grid> grids;
  for (int i = 0; i < 32; ++i) grids.push_back({1 + i % 3, 2 + i / 16});
  const auto layout = TokenLayout::Make(grids, /*prefix_tokens=*/1);
  const ForwardContext context = DroppingPaths(0.4F, 5);
  const std::vector<float> factors = Factors(32, 9, context);
  ASSERT_THAT(std::set<float>(factors.begin(), factors.end()), ::testing::SizeIs(2));
  const int64_t padding = 3;
  const at::Tensor x = Hashed({layout->total_tokens() + padding, 4}, 1);
  const at::Tensor y = DropPath(PackedTokens{x, layout}, 9, context);
  for (int image = 0; image < layout->images(); ++image) {
    const auto tokens = [&](const at::Tensor& t) { return t.narrow(0, layout->offset(image), layout->tokens(image)); };
    EXPECT_EQ(Difference(tokens(y), tokens(x) * factors[image]), 0) << image;
  }
}

TEST(DropPath, ReplicasDropLikeTheWholeBatch) {
  const ForwardContext whole = DroppingPaths(0.5F, 11);
  const std::vector<float> factors = Factors(24, 1, whole);
  for (int part = 0; part < 3; ++part) {
    const ForwardContext share = whole.Share(part, 3);
    const std::vector<float> own = Factors(8, 1, share);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(own[i], factors[part + 3 * i]) << part << " " << i;
    const std::vector<float> second = Factors(4, 1, share.Share(1, 2));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(second[i], own[1 + 2 * i]) << "a share of a share";
  }
}

TEST(DropPath, ADroppedBranchHasNoGradient) {
  const auto layout = TokenLayout::Make(std::vector<Grid>(8, Grid{1, 3}), 0);
  const ForwardContext context = DroppingPaths(0.5F, 2);
  const std::vector<float> factors = Factors(8, 0, context);
  at::Tensor branch = Hashed({24, 2}, 1).set_requires_grad(true);
  const at::Tensor direction = Hashed({24, 2}, 2);
  (DropPath(PackedTokens{branch, layout}, 0, context) * direction).sum().backward();
  for (int image = 0; image < 8; ++image) {
    const auto tokens = [&](const at::Tensor& t) { return t.narrow(0, 3 * image, 3); };
    EXPECT_LT(Difference(tokens(branch.grad()), tokens(direction) * factors[image]), 1e-6);
  }
}

TEST(Dropout, HasNoEffectAtRateZeroOrInEvaluation) {
  const at::Tensor x = Hashed({6, 3}, 1);
  EXPECT_TRUE(Dropout(x, 0, 3, Training()).is_same(x));
  EXPECT_TRUE(Dropout(x, 0.001F, 3, Training()).is_same(x)) << "below a step of 1/256";
  EXPECT_FALSE(Dropout(x, 0.003F, 3, Training()).is_same(x));
  EXPECT_TRUE(Dropout(x, 0.5F, 3, {}).is_same(x));
}

// Rates have steps of 1/256. Every value is dropped independently, including the values of the last, partial random
// word.
TEST(Dropout, DropsItsRateAndScalesTheRest) {
  constexpr int64_t kValues = 40'003;
  const at::Tensor ones = at::ones({kValues});
  const std::pair<float, int> kRates[] = {{1.0F / 256, 1}, {0.25F, 64}, {0.996F, 255}, {1.0F, 255}};
  for (const auto& [rate, dropped_of_256] : kRates) {
    const at::Tensor kept = Dropout(ones, rate, 3, Training(7));
    const float factor = 256.0F / static_cast<float>(256 - dropped_of_256);
    int64_t dropped = 0;
    for (int64_t i = 0; i < kValues; ++i) {
      const float value = kept.const_data_ptr<float>()[i];
      ASSERT_TRUE(value == 0 || value == factor) << rate << " " << i << ": " << value;
      dropped += value == 0;
    }
    const double share = rate == 1 ? 1 : dropped_of_256 / 256.0;
    EXPECT_NEAR(static_cast<double>(dropped) / kValues, share, 4 * std::sqrt(share * (1 - share) / kValues)) << rate;
  }
}

TEST(Dropout, SharesOfABatchAndRunsDropDifferently) {
  const at::Tensor x = at::ones({4096});
  const auto dropped = [&](const ForwardContext& context, int run) { return Dropout(x, 0.5F, 3, context, run); };
  const at::Tensor first = dropped(Training(1), 0);
  EXPECT_NEAR(first.mean().item<double>(), 1, 0.07);
  EXPECT_EQ(Difference(first, dropped(Training(1), 0)), 0);
  for (const at::Tensor& other : {dropped(Training(1), 1), dropped(Training(1).Share(1, 2), 0)}) {
    EXPECT_NEAR(((other != first).to(at::kFloat)).mean().item<double>(), 0.5, 0.05);
  }
}

TEST(AttendRun, DropsWeightsAndKeepsTheExpectation) {
  const at::NoGradGuard no_grad;
  const TokenLayout::Run run{.first_image = 2, .images = 2, .grid = {1, 5}, .first_token = 0, .tokens_per_image = 5};
  const at::Tensor q = Hashed({2, 3, 5, 4}, 1), k = Hashed({2, 3, 5, 4}, 2), v = Hashed({2, 3, 5, 4}, 3);
  const at::Tensor expected = at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, false, 2.0);
  ForwardContext context = Training();
  context.dropout.attention = 0.001F;  // less than half a step of 1/256: the code for dropping runs, but drops nothing
  EXPECT_LT(Difference(AttendRun(q, k, v, 2, run, 0, context), expected), 1e-6);

  context.dropout.attention = 0.25F;
  const at::Tensor once = AttendRun(q, k, v, 2, run, 0, context);
  EXPECT_GT(Difference(once, expected), 0.05);
  TokenLayout::Run other = run;
  other.first_image = 0;
  EXPECT_GT(Difference(once, AttendRun(q, k, v, 2, other, 0, context)), 0.05) << "runs drop alike";
  at::Tensor mean = at::zeros_like(expected);
  constexpr int kDraws = 3000;
  for (int i = 0; i < kDraws; ++i) {
    context.dropout_seed = i;
    mean += AttendRun(q, k, v, 2, run, 0, context) / kDraws;
  }
  EXPECT_LT(Difference(mean, expected), 0.04);
  context.training = false;
  EXPECT_EQ(Difference(AttendRun(q, k, v, 2, run, 0, context), expected), 0);
}

struct Form {
  std::string variant;
  std::string change;  // merged into the config
};

// Tests every family that has blocks. Families with several forms of blocks are tested with several variants.
class EveryBlockDropout : public ::testing::TestWithParam<Form> {
 protected:
  EveryBlockDropout() {
    v1::ModelConfig config = FindVariant(GetParam().variant)->config;
    config.MergeFrom(testing::Config(GetParam().change));
    model_ = testing::MakeHashed(config);
  }

  int side() const {
    return model_->config().preprocessing().has_fixed() ? model_->config().preprocessing().fixed().height() : 32;
  }
  ImageBatch Images() const {
    const int channels = model_->config().preprocessing().channels();
    return {RandomImage(channels, side(), side(), 1), RandomImage(channels, side(), side(), 2)};
  }
  at::Tensor Logits(const ForwardContext& context) const {
    const at::NoGradGuard no_grad;
    return model_->Forward(Images(), context);
  }

  std::unique_ptr<Model> model_;
};

// At a rate of almost 1, every branch of every block is dropped, so the parameters of blocks have no gradient.
TEST_P(EveryBlockDropout, DropPathReachesEveryBranch) {
  model_->RequireGrad(true);
  ForwardContext context = DroppingPaths(std::nextafter(1.0F, 0.0F), 3);
  context.update_statistics = false;
  const at::Tensor logits = model_->Forward(Images(), context);
  (logits * Hashed(logits.sizes(), 4)).sum().backward();
  int silent = 0, loud = 0;
  for (const NamedTensor& parameter : model_->Parameters()) {
    if (!parameter.tensor.grad().defined()) continue;
    const double gradient = parameter.tensor.grad().abs().max().item<double>();
    // In a post-norm block, the norm follows the residual, so x still passes through the norm.
    if (model_->config().vit().norm() == v1::VitConfig::POST && absl::StrContains(parameter.name, "norm")) continue;
    if (absl::StartsWith(parameter.name, "blocks.")) {
      EXPECT_EQ(gradient, 0) << parameter.name;
      ++silent;
    } else {
      loud += gradient > 0;
    }
  }
  EXPECT_GT(silent, 8);
  EXPECT_GT(loud, 3);
}

TEST_P(EveryBlockDropout, EveryRateActsOnlyInTraining) {
  ForwardContext context = Training(5);
  context.update_statistics = false;
  const at::Tensor still = Logits({}), undropped = Logits(context);
  std::vector<at::Tensor> results = {undropped};
  const auto member = [&](auto change) {
    ForwardContext changed = context;
    change(changed);
    const at::Tensor logits = Logits(changed);
    EXPECT_EQ(Difference(logits, Logits(changed)), 0) << "equal seeds drop equally";
    changed.dropout_seed = 6;
    EXPECT_GT(Difference(logits, Logits(changed)), 1e-4) << "another seed drops otherwise";
    for (const at::Tensor& other : results) EXPECT_GT(Difference(logits, other), 1e-4) << "the rate has no place";
    results.push_back(logits);
    changed.training = false;
    EXPECT_EQ(Difference(Logits(changed), still), 0);
  };
  member([](ForwardContext& c) { c.dropout.position = 0.3F; });
  member([](ForwardContext& c) { c.dropout.projection = 0.3F; });
  member([](ForwardContext& c) { c.dropout.mlp = 0.3F; });
  member([](ForwardContext& c) { c.dropout.attention = 0.3F; });
  member([](ForwardContext& c) { c.drop_path = 0.3F; });
}

INSTANTIATE_TEST_SUITE_P(Families, EveryBlockDropout,
                         ::testing::Values(Form{"vit-mini-cifar10", "vit { depth: 2 }"},
                                           Form{"vit-mini-cifar10", "vit { depth: 2 norm: POST }"},
                                           Form{"eit34-mini-cifar10", "eit { depth: 2 }"},
                                           Form{"eit-t-mini-cifar10", "eit { depth: 2 }"},
                                           Form{"lsra-mini-cifar10", "eit_baseline { depth: 2 }"},
                                           Form{"cvt-t-mini-cifar10", "eit_baseline { depth: 2 }"},
                                           Form{"qkv-mnist-p7-d64-l2", ""}, Form{"kv-mnist-p7-d64-l2", ""},
                                           Form{"kv-pos-mnist-p7-d64-l2", ""}, Form{"xcit-n12", "xcit { depth: 2 }"},
                                           Form{"xvit-t", "xvit { depth: 2 }"}));

void PrintTo(const Form& form, std::ostream* out) {
  *out << form.variant << " " << form.change;
}

}  // namespace
}  // namespace vitrine
