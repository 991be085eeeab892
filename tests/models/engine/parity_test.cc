// SPDX-License-Identifier: Apache-2.0
// Compares the engine with the reference: every family, with every instruction set of this CPU, with one image size and
// with many sizes in a batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "models/workload/conventions.h"
#include "models/workload/workload.h"
#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"
#include "tests/models/reference/mac_counter.h"

namespace vitrine::testing {
namespace {

#ifdef VITRINE_SANITIZED
constexpr size_t kEveryWeight = 7;  // changes only every seventh weight tensor, because each change builds an engine
#else
constexpr size_t kEveryWeight = 1;
#endif

class Parity : public ::testing::TestWithParam<std::tuple<EngineForm, cpu::CpuPath>> {
 protected:
  const EngineForm& form() const { return std::get<0>(GetParam()); }
  const Compiled compiled_{form().config, std::get<1>(GetParam())};

  at::Tensor Sized(size_t size, uint64_t seed) const {
    const auto [height, width] = form().sizes[size % form().sizes.size()];
    return RandomImage(form().config.preprocessing().channels(), height, width, seed);
  }

  void ExpectClose(const std::vector<at::Tensor>& images) const {
    ExpectClose(compiled_.ByEngine(images), compiled_.ByReference(images), "logits");
  }

  static void ExpectClose(const std::vector<float>& ours, const std::vector<float>& theirs, const std::string& what) {
    EXPECT_LE(Apart(ours, theirs), kParityTolerance) << what;
  }
};

TEST_P(Parity, LogitsOfManySizesAgreeWithTheReference) {
  std::vector<at::Tensor> images;
  for (size_t i = 0; i < 7; ++i) images.push_back(Sized(i, 10 + i));
  ExpectClose(images);
}

TEST_P(Parity, AttentionAndTokensAgreeWithTheReference) {
  const std::vector<at::Tensor> images = {Sized(0, 1), Sized(1, 2), Sized(2, 3)};
  Handed ours = RequestEverything(compiled_, 1), theirs = ours;
  const std::vector<float> logits = Logits(*compiled_.engine, images, &ours.attention, &ours.tokens);
  static_cast<void>(compiled_.ByReference(images, &theirs.attention, &theirs.tokens));
  EXPECT_EQ(logits, compiled_.ByEngine(images)) << "what was asked changed the logits";
  ExpectSame(compiled_, 1, ours, theirs);
}

// NaN must reach the logits: a maximum (in ReLU, softmax or pooling) must not replace NaN by a number.
TEST_P(Parity, NanInAnImageReachesTheLogits) {
  at::Tensor image = Sized(0, 1).clone();
  image.select(1, image.size(1) / 2).select(1, image.size(2) / 2).fill_(NAN);
  const auto is_none = [](float logit) { return std::isnan(logit); };
  const std::vector<float> theirs = compiled_.ByReference({image}), ours = compiled_.ByEngine({image});
  ASSERT_TRUE(std::all_of(theirs.begin(), theirs.end(), is_none));
  EXPECT_TRUE(std::all_of(ours.begin(), ours.end(), is_none));
}

// The reference must use LibTorch's operators: MacCounter would not count the multiply-adds of our own kernels.
TEST_P(Parity, TheReferenceUsesOnlyLibTorchOperators) {
  const auto [height, width] = form().sizes[0];
  const absl::StatusOr<Workload> workload = WorkloadOf(form().config, {height, width, 2}, Form::kExecuted);
  ASSERT_TRUE(workload.ok()) << workload.status();
  const MacCounter counter;
  static_cast<void>(compiled_.ByReference({Sized(0, 1), Sized(0, 2)}));
  EXPECT_GE(counter.total(), Macs(*workload));
}

// Changes one weight tensor at a time: engine and reference must still agree, and the logits of both must change. Some
// tensors do not affect the logits, for instance convolutions in the last block, which class tokens bypass.
TEST_P(Parity, EveryWeightAffectsBothEqually) {
  const std::vector<at::Tensor> images = {Sized(0, 1)};
  const std::vector<float> logits = compiled_.ByReference(images);
  size_t changes = 0, seen = 0;
  for (size_t i = 0; i < compiled_.weights.size(); i += kEveryWeight, ++changes) {
    at::Tensor weight = compiled_.model->weights()[i];
    const at::Tensor before = weight.clone();
    for (int64_t j = 0; j < weight.numel(); ++j) {
      float& value = weight.mutable_data_ptr<float>()[j];
      value = value * 1.25f + (j % 2 == 0 ? 0.5f : 0.25f);
    }
    const absl::StatusOr<engine::Engine> changed =
        engine::Engine::Make(*compiled_.program, compiled_.weights, compiled_.engine->path());
    ASSERT_TRUE(changed.ok()) << changed.status();
    const std::vector<float> expected = compiled_.ByReference(images);
    ExpectClose(Logits(*changed, images), expected, compiled_.program->weights()[i].name);
    if (expected != logits) {
      ++seen;
      EXPECT_NE(Logits(*changed, images), logits) << compiled_.program->weights()[i].name;
    }
    weight.copy_(before);
  }
  EXPECT_GT(seen, changes * 3 / 4);
}

// All instruction sets with fp32 kernels. The test of an instruction set that this CPU lacks is skipped, so a run
// reports which instruction sets it compared. narrow_test.cc does the same for bf16 and int8.
class EnginePath : public ::testing::TestWithParam<cpu::CpuPath> {};

TEST_P(EnginePath, IsTestedOnThisCpu) {
  if (!cpu::IsSupported(GetParam())) GTEST_SKIP() << "this CPU cannot run " << cpu::Name(GetParam());
  const std::vector<cpu::CpuPath> compared = EnginePaths();
  EXPECT_NE(std::find(compared.begin(), compared.end(), GetParam()), compared.end());
}

INSTANTIATE_TEST_SUITE_P(, EnginePath,
                         ::testing::Values(cpu::CpuPath::kPortable, cpu::CpuPath::kNeon, cpu::CpuPath::kAvx2,
                                           cpu::CpuPath::kAvx512),
                         [](const auto& info) { return std::string(cpu::Name(info.param)); });

INSTANTIATE_TEST_SUITE_P(Forms, Parity,
                         ::testing::Combine(::testing::ValuesIn(EngineForms()), ::testing::ValuesIn(EnginePaths())),
                         [](const auto& info) { return NameOf(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace vitrine::testing
