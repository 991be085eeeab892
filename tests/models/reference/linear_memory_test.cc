// SPDX-License-Identifier: Apache-2.0
// Tests that XCiT and X-ViT never allocate a matrix of tokens x tokens: their memory is linear in the tokens.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/reference/images.h"
#include "tests/models/reference/memory_meter.h"

namespace vitrine {
namespace {

using testing::RandomImage;

constexpr int kShort = 16, kLong = 48;  // cells per side
constexpr double kMoreTokens = double{kLong} * kLong / (kShort * kShort);

struct Use {
  int64_t peak;
  int64_t largest;
};

Use Measure(const Model& model, int side, bool training, AttentionTap* tap = nullptr) {
  const ImageBatch images{RandomImage(3, side * 8, side * 8, 1)};
  const at::NoGradGuard no_grad;
  ForwardContext context;
  context.training = training;
  context.tap = tap;
  at::GradMode::set_enabled(training);
  const testing::MemoryMeter meter;
  const at::Tensor logits = model.Forward(images, context);
  if (training) logits.sum().backward();
  return {meter.peak_bytes(), meter.largest_bytes()};
}

class LinearMemory : public ::testing::TestWithParam<const char*> {
 protected:
  LinearMemory()
      : model_(testing::MakeHashed(testing::Config(
            std::string("classes: 5 preprocessing { channels: 3 native { cell: 8 min_tokens: 1 max_tokens: 4096 } } ") +
            GetParam()))) {}

  static void ExpectLinear(const Use& at_short, const Use& at_long) {
    EXPECT_LT(static_cast<double>(at_long.peak), kMoreTokens * 1.02 * at_short.peak);
    EXPECT_LT(static_cast<double>(at_long.largest), kMoreTokens * 1.02 * at_short.largest);
  }

  // Adds the memory of `tap`, because the meter counts only tensors.
  static void AddTaken(const AttentionTap& tap, Use& use) {
    using Matrices = AttentionTap::Matrices;
    for (const auto source : {AttentionSource::kTokens, AttentionSource::kClassQuery, AttentionSource::kChannels}) {
      const Matrices* taken = tap.Find(0, source, 0);
      if (taken == nullptr) continue;
      for (const auto member : {&Matrices::scores, &Matrices::weights, &Matrices::queries, &Matrices::keys}) {
        const auto bytes = static_cast<int64_t>((taken->*member).values.size() * sizeof(float));
        use.peak += bytes;
        use.largest = std::max(use.largest, bytes);
      }
    }
  }

  std::unique_ptr<Model> model_;
};

INSTANTIATE_TEST_SUITE_P(
    Families, LinearMemory,
    ::testing::Values("xcit { patch: 8 width: 16 depth: 2 class_depth: 2 heads: 2 mlp_width: 32 }",
                      "xcit { patch: 8 width: 16 depth: 2 class_depth: 2 heads: 2 mlp_width: 32 embedding: F_SNE "
                      "embedding_width: 16 code_length: 4 }",
                      "xvit { patch: 8 width: 16 depth: 2 class_depth: 2 heads: 2 attention_width: 8 mlp_width: 32 }",
                      "xvit { patch: 8 width: 16 depth: 2 class_depth: 2 heads: 2 attention_width: 8 mlp_width: 32 "
                      "norm_axis: LAST }",
                      "xvit { patch: 8 width: 16 depth: 2 class_depth: 2 heads: 2 attention_width: 8 mlp_width: 32 "
                      "mixer: NONE }"),
    [](const auto& info) { return "Form" + std::to_string(info.index); });

TEST_P(LinearMemory, InferenceMemoryIsLinearInTheTokens) {
  ExpectLinear(Measure(*model_, kShort, false), Measure(*model_, kLong, false));
}

TEST_P(LinearMemory, TrainingMemoryIsLinearInTheTokens) {
  model_->RequireGrad(true);
  Measure(*model_, kShort, true);  // allocates the gradients, which later calls reuse
  ExpectLinear(Measure(*model_, kShort, true), Measure(*model_, kLong, true));
}

// The memory of captured attention is also linear in the tokens, since X-ViT returns factors.
TEST_P(LinearMemory, CaptureMemoryIsLinearInTheTokens) {
  Use use[2];
  for (const int side : {kShort, kLong}) {
    AttentionTap tap;
    for (const AttentionAbility::Offer& offer : model_->attention().offers) tap.Request(0, offer.source, 0);
    use[side == kLong] = Measure(*model_, side, false, &tap);
    AddTaken(tap, use[side == kLong]);
  }
  ExpectLinear(use[0], use[1]);
}

TEST(MemoryMeter, CountsAMatrixOfTokensByTokens) {
  const at::Tensor q = testing::Hashed({kLong * kLong, 4}, 1);
  const testing::MemoryMeter meter;
  at::Tensor scores = at::matmul(q, q.t());
  const int64_t bytes = scores.numel() * 4;
  EXPECT_EQ(meter.largest_bytes(), bytes);
  scores = scores * 2;
  EXPECT_GE(meter.peak_bytes(), 2 * bytes);
  scores.reset();
  const at::Tensor small = q * 2;
  EXPECT_EQ(meter.largest_bytes(), bytes);
}

}  // namespace
}  // namespace vitrine
