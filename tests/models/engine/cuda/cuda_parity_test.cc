// SPDX-License-Identifier: Apache-2.0
// The plain kernels against LibTorch's operators: every small form of every family, on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

using CudaParity = CudaForm;

TEST_P(CudaParity, LogitsOfManySizes) {
  OnDevice device(*compiled_.program, compiled_.weights);
  const std::vector<at::Tensor> images = Images(4);
  EXPECT_LE(Apart(device.Logits(Views(images)), compiled_.ByReference(images)), kParityTolerance);
}

// Tolerances of the CPU's narrow products (narrow_test.cc).
TEST_P(CudaParity, NarrowLogits) {
  const std::vector<at::Tensor> images = Images(3);
  const std::vector<float> expected = compiled_.ByReference(images);
  for (const auto& [precision, tolerance] : {std::pair(Precision::kBf16, 0.02), {Precision::kInt8, 0.03}}) {
    OnDevice device(*compiled_.program, compiled_.weights,
                    {.limits = kSmallBatch, .choice = {.precision = precision, .kept = {}}});
    const std::vector<float> logits = device.Logits(Views(images));
    EXPECT_LE(Apart(logits, expected), tolerance) << Name(precision);
    EXPECT_GT(Apart(logits, expected), kParityTolerance) << Name(precision) << " is as exact as fp32";
  }
}

void ExpectEqual(const FloatArray& ours, const FloatArray& theirs, const std::string& what) {
  EXPECT_EQ(ours.shape, theirs.shape) << what;
  EXPECT_LE(Apart(ours.values, theirs.values), kParityTolerance) << what;
}

// Attention of every layer and the tokens of every stage, of one image among others that did not request them.
TEST_P(CudaParity, Taps) {
  const std::vector<at::Tensor> images = Images(3);
  AttentionTap ours, theirs;
  TokenTap our_tokens, their_tokens;
  for (const AttentionAbility::Offer& offer : compiled_.model->attention().offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      for (AttentionTap* tap : {&ours, &theirs}) tap->Request(1, offer.source, layer);
    }
  }
  const int stages = static_cast<int>(compiled_.program->stages().size());
  for (int stage = TokenTap::kProjection; stage < stages; ++stage) {
    for (TokenTap* tap : {&our_tokens, &their_tokens}) tap->Request(stage);
  }
  OnDevice device(*compiled_.program, compiled_.weights);
  const std::vector<float> logits = device.Logits(Views(images), &ours, &our_tokens);
  static_cast<void>(compiled_.ByReference(images, &theirs, &their_tokens));

  EXPECT_EQ(logits, device.Logits(Views(images))) << "the taps changed the logits";
  for (int stage = TokenTap::kProjection; stage < stages; ++stage) {
    const TokenTap::Tokens *a = our_tokens.Find(stage), *b = their_tokens.Find(stage);
    ASSERT_EQ(a == nullptr, b == nullptr) << "stage " << stage;
    if (a == nullptr) continue;
    EXPECT_EQ(a->layout->total_tokens(), b->layout->total_tokens());
    ExpectEqual(a->data, b->data, absl::StrCat("stage ", stage));
  }
  for (const AttentionAbility::Offer& offer : compiled_.model->attention().offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      const AttentionTap::Matrices *a = ours.Find(1, offer.source, layer), *b = theirs.Find(1, offer.source, layer);
      ASSERT_TRUE(a != nullptr && b != nullptr) << "layer " << layer;
      EXPECT_EQ(ours.Find(0, offer.source, layer), nullptr);
      ExpectEqual(a->scores, b->scores, absl::StrCat("scores of layer ", layer));
      ExpectEqual(a->weights, b->weights, absl::StrCat("weights of layer ", layer));
      ExpectEqual(a->queries, b->queries, absl::StrCat("queries of layer ", layer));
      ExpectEqual(a->keys, b->keys, absl::StrCat("keys of layer ", layer));
    }
  }
}

// Maps of an image whose scores do not fit the memory of taps at once.
TEST(CudaTaps, ComputeLargeMapsInParts) {
  const std::vector<EngineForm> forms = EngineForms();
  const auto form = std::find_if(forms.begin(), forms.end(), [](const EngineForm& form) { return form.name == "vit"; });
  ASSERT_NE(form, forms.end());
  const Compiled compiled(form->config, cpu::CpuPath::kPortable);
  const at::Tensor image = RandomImage(form->config.preprocessing().channels(), 44, 40, 1);  // 111 tokens, 3 heads
  AttentionTap ours, theirs;
  for (AttentionTap* tap : {&ours, &theirs}) tap->Request(0, AttentionSource::kTokens, 1);
  OnDevice device(*compiled.program, compiled.weights);
  const std::vector<cuda::ImagePlanes> views = {View(image)};
  static_cast<void>(device.Logits(views, &ours));
  static_cast<void>(compiled.ByReference({image}, &theirs));
  const AttentionTap::Matrices* const a = ours.Find(0, AttentionSource::kTokens, 1);
  const AttentionTap::Matrices* const b = theirs.Find(0, AttentionSource::kTokens, 1);
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_GT(a->scores.values.size(), size_t{2} << 14);
  ExpectEqual(a->scores, b->scores, "scores");
  ExpectEqual(a->weights, b->weights, "weights");
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaParity, ::testing::ValuesIn(EngineForms()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

}  // namespace
}  // namespace vitrine::testing
