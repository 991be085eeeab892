// SPDX-License-Identifier: Apache-2.0
// Compares small bf16 models with LibTorch. The heads of these models are wide enough for the fast attention kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

constexpr double kNarrowTolerance = 0.02;  // the tolerance for bf16 in narrow_test.cc

struct FastForm {
  EngineForm form;
  std::vector<std::string> kernels;  // kernels that the engine must choose
};

EngineForm Named(const std::string& name) {
  const std::vector<EngineForm> forms = EngineForms();
  return *std::find_if(forms.begin(), forms.end(), [&](const EngineForm& form) { return form.name == name; });
}

std::vector<FastForm> FastForms() {
  FastForm two_heads = {Named("xcit_sne"), {"vitrine_attend_channels_16", "vitrine_attend_query"}};
  two_heads.form.name = "xcit_of_16";
  two_heads.form.config.mutable_xcit()->set_heads(2);
  FastForm one_head = {Named("xcit_sne"), {"vitrine_attend_channels_32", "vitrine_attend_query"}};
  one_head.form.name = "xcit_of_32";
  one_head.form.config.mutable_xcit()->set_heads(1);
  FastForm narrow = {Named("xcit"), {"vitrine_attend_channels_16_narrow"}};  // q, k and v come from one linear layer
  narrow.form.name = "xcit_narrow";
  narrow.form.config.mutable_xcit()->set_heads(2);
  FastForm vit = {Named("vit"), {"vitrine_attend_tokens_16_narrow"}};
  vit.form.name = "vit_of_16";
  vit.form.config.mutable_vit()->set_width(48);
  FastForm kv = {Named("kv-pos-mnist-p7-d64-l2"), {"vitrine_attend_tokens_32_narrow"}};  // keys have offsets
  kv.form.name = "kv_pos_of_32";
  kv.form.config.mutable_kv()->set_heads(2);
  return {two_heads, one_head, narrow, vit, kv};
}

class CudaFastForms : public ::testing::TestWithParam<FastForm> {
 protected:
  OnDevice On(const cuda::emulated::MachineOptions& machine = {}) const {
    return OnDevice(*compiled_.program, compiled_.weights,
                    {.limits = kSmallBatch, .choice = {.precision = Precision::kBf16, .kept = {}}}, machine);
  }

  static std::vector<at::Tensor> Images() {
    std::vector<at::Tensor> images;
    for (const auto& [height, width] : GetParam().form.sizes) {
      images.push_back(
          RandomImage(GetParam().form.config.preprocessing().channels(), height, width, images.size() + 1));
      if (images.size() == 3) break;
    }
    return images;
  }
  static std::vector<cuda::ImagePlanes> Views(const std::vector<at::Tensor>& images) {
    std::vector<cuda::ImagePlanes> views;
    for (const at::Tensor& image : images) views.push_back(View(image));
    return views;
  }
  void RequestAll(AttentionTap& tap, int image) const {
    for (const AttentionAbility::Offer& offer : compiled_.model->attention().offers) {
      for (int layer = 0; layer < offer.layers; ++layer) tap.Request(image, offer.source, layer);
    }
  }

  const Compiled compiled_{GetParam().form.config, cpu::CpuPath::kPortable};
};

TEST_P(CudaFastForms, RunTheirFastKernels) {
  const std::vector<std::string> kernels = On().Kernels();
  for (const std::string& kernel : GetParam().kernels) EXPECT_THAT(kernels, ::testing::Contains(kernel));
}

TEST_P(CudaFastForms, AgreeWithTheReferenceInEveryRoundingModel) {
  const std::vector<at::Tensor> images = Images();
  const std::vector<float> expected = compiled_.ByReference(images);
  for (const cuda::emulated::RoundingModel rounding : cuda::emulated::kRoundingModels) {
    OnDevice device = On({.rounding = rounding});
    EXPECT_LE(Apart(device.Logits(Views(images)), expected), kNarrowTolerance);
  }
}

TEST_P(CudaFastForms, TapsAgreeWithThePlainKernels) {
  const std::vector<at::Tensor> images = Images();
  AttentionTap ours, theirs;
  const int last = static_cast<int>(images.size()) - 1;
  RequestAll(ours, last);
  RequestAll(theirs, last);
  OnDevice device = On();
  const std::vector<float> logits = device.Logits(Views(images), &ours);
  EXPECT_EQ(logits, device.Logits(Views(images))) << "the taps changed the logits";
  static_cast<void>(compiled_.ByReference(images, &theirs));
  for (const AttentionAbility::Offer& offer : compiled_.model->attention().offers) {
    for (int layer = 0; layer < offer.layers; ++layer) {
      const AttentionTap::Matrices *a = ours.Find(last, offer.source, layer),
                                   *b = theirs.Find(last, offer.source, layer);
      ASSERT_TRUE(a != nullptr && b != nullptr) << "layer " << layer;
      EXPECT_TRUE(last == 0 || ours.Find(0, offer.source, layer) == nullptr);
      EXPECT_EQ(a->scores.shape, b->scores.shape);
      EXPECT_EQ(a->weights.shape, b->weights.shape);
      EXPECT_LE(Apart(a->scores.values, b->scores.values), kNarrowTolerance) << "layer " << layer;
      EXPECT_LE(Apart(a->weights.values, b->weights.values), kNarrowTolerance) << "layer " << layer;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaFastForms, ::testing::ValuesIn(FastForms()),
                         [](const auto& info) { return info.param.form.name; });

}  // namespace
}  // namespace vitrine::testing
