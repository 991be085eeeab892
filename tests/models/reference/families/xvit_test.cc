// SPDX-License-Identifier: Apache-2.0
// Tests X-ViT's identities: bounded outputs, the implicit attention matrix, both axes of XNorm.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <map>

#include "models/attention_maps.h"
#include "models/reference/float_arrays.h"
#include "models/reference/operators/attention/x_attention.h"
#include "tests/models/reference/images.h"

namespace vitrine {
namespace {

using testing::Difference;
using testing::Hashed;
using testing::RandomImage;
using Norm = program::AttendLinearly::Norm;

constexpr int kXvitWidth = 24;
constexpr int kXvitHeads = 3;
constexpr int kHeadWidth = kXvitWidth / kXvitHeads;

// Queries, keys and values come from a matrix, heads side by side.
class XAttentionTest : public ::testing::TestWithParam<Norm> {
 protected:
  // Returns [T, 3, heads, d_h].
  at::Tensor Qkv(const at::Tensor& x) const {
    return (x.matmul(weight_.t()) + bias_).view({-1, 3, kXvitHeads, kHeadWidth});
  }
  LinearAttention attention() const { return {query_scale_, context_scale_, GetParam()}; }
  at::Tensor OfTokens(const at::Tensor& x, const std::shared_ptr<const TokenLayout>& layout,
                      const ForwardContext& context) const {
    const at::Tensor qkv = Qkv(x);
    return attention().OfTokens(qkv.select(1, 0), qkv.select(1, 1), qkv.select(1, 2), layout, 0, 0, context);
  }
  // Returns the heads' outputs for an image: [h, N, d_h].
  at::Tensor Outputs(int image, AttentionTap* tap = nullptr) const {
    ForwardContext context;
    context.tap = tap;
    return OfTokens(x_, layout_, context)
        .narrow(0, layout_->offset(image), layout_->tokens(image))
        .view({-1, kXvitHeads, kHeadWidth})
        .transpose(0, 1);
  }
  // Returns part 0, 1 or 2 (q, k or v) of an image: [h, N, d_h].
  at::Tensor Part(int part, int image) const {
    return Qkv(x_).select(1, part).narrow(0, layout_->offset(image), layout_->tokens(image)).transpose(0, 1);
  }
  static at::Tensor Scale(const at::Tensor& factors) { return factors.view({kXvitHeads, 1, 1}); }

  const std::shared_ptr<const TokenLayout> layout_ = TokenLayout::Make({{3, 5}, {4, 2}, {4, 2}}, 0);
  const at::Tensor x_ = Hashed({31, kXvitWidth}, 4);
  const at::Tensor weight_ = Hashed({3 * kXvitWidth, kXvitWidth}, 5) * 0.3, bias_ = Hashed({3 * kXvitWidth}, 6) * 0.3;
  const at::Tensor query_scale_ = Hashed({kXvitHeads}, 8) + 2, context_scale_ = Hashed({kXvitHeads}, 9) + 3;
};

std::string NormName(const ::testing::TestParamInfo<Norm>& info) {
  return info.param == Norm::kKeys ? "Keys" : info.param == Norm::kValues ? "Values" : "None";
}
INSTANTIATE_TEST_SUITE_P(Norms, XAttentionTest, ::testing::Values(Norm::kKeys, Norm::kValues, Norm::kNone), NormName);

class ContractedAxisTest : public XAttentionTest {};
INSTANTIATE_TEST_SUITE_P(, ContractedAxisTest, ::testing::Values(Norm::kKeys), NormName);

class NormalisedTest : public XAttentionTest {};
INSTANTIATE_TEST_SUITE_P(Axes, NormalisedTest, ::testing::Values(Norm::kKeys, Norm::kValues), NormName);

TEST_P(ContractedAxisTest, OutputsAreCosines) {
  for (int image = 0; image < 3; ++image) {
    const at::Tensor bound = (Scale(query_scale_) * Scale(context_scale_)).abs();
    const at::Tensor outputs = Outputs(image).abs();
    EXPECT_LT((outputs - bound).max().item<double>(), 1e-5);
    EXPECT_GT((outputs / bound).max().item<double>(), 0.3) << "the bound says nothing of outputs near zero";
  }
}

TEST_P(XAttentionTest, OutputsAreThoseOfTheImplicitMap) {
  constexpr int kImage = 1;
  AttentionTap tap;
  tap.Request(kImage, AttentionSource::kTokens, 0);
  const at::Tensor outputs = Outputs(kImage, &tap);
  EXPECT_EQ(tap.Find(0, AttentionSource::kTokens, 0), nullptr);
  const AttentionTap::Matrices* matrices = tap.Find(kImage, AttentionSource::kTokens, 0);
  ASSERT_NE(matrices, nullptr);
  const at::Tensor map =
      at::matmul(TensorOf(matrices->queries), TensorOf(matrices->keys).transpose(1, 2));  // M, [h, N, N]
  at::Tensor expected = at::matmul(map, Part(2, kImage));
  if (GetParam() == Norm::kKeys) {
    const at::Tensor s = at::matmul(Part(1, kImage).transpose(1, 2), Part(2, kImage)).pow(2).sum(1, true).sqrt();
    expected = expected / s * Scale(context_scale_);
  }
  EXPECT_LT(Difference(outputs, expected), 1e-4 * std::max(1.0, expected.abs().max().item<double>()));
  EXPECT_LT(map.min().item<double>(), -1e-3) << "the map is signed";
}

TEST_P(NormalisedTest, QueriesAreNormalisedByTheirOwnLength) {
  const at::NoGradGuard no_grad;
  const at::Tensor before = Outputs(0);
  weight_.slice(0, 0, kXvitWidth).mul_(5);
  bias_.slice(0, 0, kXvitWidth).mul_(5);
  EXPECT_LT(Difference(Outputs(0), before), 1e-4);
}

// The class query is a row like any other: over the same tokens, its result equals a token query's.
TEST_P(XAttentionTest, ClassQueriesSeeWhatTokenQueriesSee) {
  const auto classed = TokenLayout::Make({{3, 5}, {4, 2}, {4, 2}}, 1);
  const at::Tensor x = Hashed({34, kXvitWidth}, 5);
  std::vector<at::Tensor> rows;
  for (int image = 0; image < 3; ++image) rows.push_back(x[classed->offset(image)]);
  ForwardContext context;
  AttentionTap tap;
  tap.Request(2, AttentionSource::kClassQuery, 1);
  context.tap = &tap;
  const at::Tensor all = OfTokens(x, classed, {});
  const at::Tensor qkv = Qkv(x), queries = Qkv(at::stack(rows)).select(1, 0);
  const at::Tensor answers =
      attention().OfClassTokens(queries, qkv.select(1, 1), qkv.select(1, 2), *classed, 1, 0, context);
  for (int image = 0; image < 3; ++image) {
    const at::Tensor expected = all[classed->offset(image)];
    EXPECT_LT(Difference(answers[image], expected), 1e-5 * std::max(1.0, expected.abs().max().item<double>()));
  }
  EXPECT_EQ(tap.Find(2, AttentionSource::kClassQuery, 1)->queries.shape,
            (std::vector<int64_t>{kXvitHeads, 1, kHeadWidth}));
  EXPECT_EQ(tap.Find(2, AttentionSource::kClassQuery, 1)->keys.shape,
            (std::vector<int64_t>{kXvitHeads, 9, kHeadWidth}));
}

TEST(XVit, MapsOfAImageAreThoseOfItsFactors) {
  const auto model = testing::MakeHashed(testing::Config(
      "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } xvit { patch: 8 width: "
      "24 depth: 2 class_depth: 2 heads: 3 attention_width: 12 mlp_width: 30 }"));
  const ImageBatch images{RandomImage(3, 24, 40, 1), RandomImage(3, 16, 16, 2)};
  const AttentionAbility ability = model->attention();
  EXPECT_TRUE(ability.diverging);
  const auto maps = [&](v1::AttentionKind kind) {
    v1::AttentionRequest request;
    request.set_kind(kind);
    request.add_heads(1);
    if (kind == v1::QUERY_ROW) request.set_query(4);
    const auto resolved = ResolveAttention(request, ability, {3, 5});
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    AttentionTap tap;
    RequestAttention(*resolved, ability, 0, tap);
    EXPECT_TRUE(RunModel(*model, images, &tap).ok());
    const std::vector<AttentionMap> collected = CollectAttention(*resolved, ability, tap, 0, {3, 5});
    EXPECT_EQ(collected.size(), 1);
    return collected.at(0);
  };
  const AttentionMap weights = maps(v1::WEIGHTS);
  EXPECT_EQ(weights.rows, 15);
  EXPECT_EQ(weights.columns, 15);
  EXPECT_TRUE(weights.diverging);
  const AttentionMap mean = maps(v1::MEAN_OVER_QUERIES), row = maps(v1::QUERY_ROW);
  for (int j = 0; j < 15; ++j) {
    double sum = 0;
    for (int i = 0; i < 15; ++i) sum += weights.values[i * 15 + j];
    EXPECT_NEAR(mean.values[j], sum / 15, 1e-5);
    EXPECT_NEAR(row.values[j], weights.values[4 * 15 + j], 1e-6);
  }
  EXPECT_EQ(maps(v1::CLASS_ATTENTION).rows, 3);
  EXPECT_EQ(maps(v1::DISTANCE).values.size(), 2);
}

// Token attention comes before the class token is joined, so its maps have no class row, whatever the mixer.
TEST(XVit, AttentionOfEveryMixer) {
  const auto ability = [](const std::string& change) {
    return testing::MakeHashed(
               testing::Config(
                   "classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 64 } } "
                   "xvit { patch: 8 width: 24 depth: 2 class_depth: 2 heads: 3 attention_width: 12 "
                   "mlp_width: 30 " +
                   change + " }"))
        ->attention();
  };
  const AttentionAbility softmax = ability("mixer: SOFTMAX"), channels = ability("mixer: XCA");
  EXPECT_FALSE(softmax.diverging);
  EXPECT_EQ(softmax.prefix_tokens, 0);
  EXPECT_EQ(softmax.Find(v1::CLASS_TOKEN_ROW), nullptr);
  EXPECT_NE(softmax.Find(v1::WEIGHTS), nullptr);
  EXPECT_EQ(channels.Find(v1::WEIGHTS), nullptr);
  EXPECT_EQ(channels.channels, 4);
  for (const AttentionAbility& each : {softmax, channels}) {
    ASSERT_NE(each.Find(v1::CLASS_ATTENTION), nullptr);
    EXPECT_EQ(each.Find(v1::CLASS_ATTENTION)->layers, 2);
  }
  EXPECT_TRUE(ability("mixer: NONE").diverging);
  EXPECT_NE(ability("mixer: NONE").Find(v1::QUERY_ROW), nullptr);
}

}  // namespace
}  // namespace vitrine
