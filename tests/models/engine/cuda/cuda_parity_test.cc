// SPDX-License-Identifier: Apache-2.0
// Compares the plain kernels with LibTorch's operators for every small form of every family, on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

using CudaParity = CudaForm;

TEST_P(CudaParity, LogitsOfManySizesAgreeWithTheReference) {
  OnDevice device(*compiled_.program, compiled_.weights);
  const std::vector<at::Tensor> images = Images(4);
  EXPECT_LE(Apart(device.Logits(Views(images)), compiled_.ByReference(images)), kParityTolerance);
}

// The tolerances for bf16 and int8 equal the tolerances for the CPU (narrow_test.cc). Uses the rounding model of
// compute capability 9.0 for every form, and that of 8.0 only for bf16 and one form per family. cuda_fast_forms_test.cc
// uses all rounding models.
TEST_P(CudaParity, NarrowLogitsAreCloseToTheReference) {
  using cuda::emulated::RoundingModel;
  const std::vector<at::Tensor> images = Images(3);
  const std::vector<float> expected = compiled_.ByReference(images);
  for (const auto& [precision, rounding, tolerance] : {std::tuple(Precision::kBf16, RoundingModel::kSm90, 0.02),
                                                       {Precision::kBf16, RoundingModel::kSm80, 0.02},
                                                       {Precision::kInt8, RoundingModel::kSm90, 0.03}}) {
    if (rounding == RoundingModel::kSm80 && !IsFirstOfFamily()) continue;
    OnDevice device(*compiled_.program, compiled_.weights,
                    {.limits = kSmallBatch, .choice = {.precision = precision, .kept = {}}}, {.rounding = rounding});
    const std::vector<float> logits = device.Logits(Views(images));
    EXPECT_LE(Apart(logits, expected), tolerance) << Name(precision);
    EXPECT_GT(Apart(logits, expected), kParityTolerance) << Name(precision) << " is as exact as fp32";
  }
}

TEST_P(CudaParity, TapsAgreeWithTheReference) {
  const std::vector<at::Tensor> images = Images(3);
  Handed ours = RequestEverything(compiled_, 1), theirs = ours;
  OnDevice device(*compiled_.program, compiled_.weights);
  const std::vector<float> logits = device.Logits(Views(images), &ours.attention, &ours.tokens);
  static_cast<void>(compiled_.ByReference(images, &theirs.attention, &theirs.tokens));
  EXPECT_EQ(logits, device.Logits(Views(images))) << "the taps changed the logits";
  ExpectSame(compiled_, 1, ours, theirs);
}

// The scores of this image do not all fit into the device's memory for collected attention, so they are computed in
// parts.
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
  EXPECT_LE(Apart(a->scores.values, b->scores.values), kParityTolerance);
  EXPECT_LE(Apart(a->weights.values, b->weights.values), kParityTolerance);
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaParity, ::testing::ValuesIn(EngineForms()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

}  // namespace
}  // namespace vitrine::testing
