// SPDX-License-Identifier: Apache-2.0
// The engine against the reference: every family, on every path that this CPU has, one size and many sizes at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/compiled.h"
#include "tests/reference/pictures.h"

namespace vitrine::testing {
namespace {

constexpr double kTolerance = 1e-5;  // of the largest value

class Parity : public ::testing::TestWithParam<std::tuple<EngineForm, cpu::CpuPath>> {
 protected:
  const EngineForm& form() const { return std::get<0>(GetParam()); }
  const Compiled compiled_{form().config, std::get<1>(GetParam())};

  at::Tensor Sized(size_t size, uint64_t seed) const {
    const auto [height, width] = form().sizes[size % form().sizes.size()];
    return Picture(form().config.preprocessing().channels(), height, width, seed);
  }

  void ExpectClose(const std::vector<at::Tensor>& pictures) const {
    const std::vector<float> ours = compiled_.ByEngine(pictures), theirs = compiled_.ByReference(pictures);
    ASSERT_EQ(ours.size(), theirs.size());
    double largest = 0, difference = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, std::abs(double{theirs[i]}));
      const double apart = std::abs(double{ours[i]} - theirs[i]);
      difference = std::isnan(apart) ? INFINITY : std::max(difference, apart);
    }
    EXPECT_LE(difference, kTolerance * largest);
  }
};

TEST_P(Parity, OnePictureOfEverySize) {
  for (size_t i = 0; i < form().sizes.size(); ++i) {
    SCOPED_TRACE(absl::StrCat(form().sizes[i].first, "x", form().sizes[i].second));
    ExpectClose({Sized(i, 1)});
  }
}

TEST_P(Parity, PicturesOfOneSize) {
  ExpectClose({Sized(0, 1), Sized(0, 2), Sized(0, 3)});
}

TEST_P(Parity, PicturesOfManySizes) {
  std::vector<at::Tensor> pictures;
  for (size_t i = 0; i < 7; ++i) pictures.push_back(Sized(i, 10 + i));
  ExpectClose(pictures);
}

// What parity proves: a fault in any weight shows. Only the bias of KV+Pos's map cancels in the softmax.
TEST(ParitySensitivity, EveryWeightChangesTheLogits) {
  for (const EngineForm& form : EngineForms()) {
    const Compiled compiled(form.config, cpu::SupportedPaths().back());
    const auto [height, width] = form.sizes[0];
    const at::Tensor picture = Picture(form.config.preprocessing().channels(), height, width, 1);
    const std::vector<float> logits = compiled.ByEngine({picture});
    std::vector<const float*> weights = compiled.weights;
    for (size_t i = 0; i < weights.size(); ++i) {
      const program::Weight& weight = compiled.program->weights()[i];
      if (weight.name.ends_with("map_pos.bias")) continue;
      std::vector<float> other(weights[i], weights[i] + weight.elements());
      for (size_t j = 0; j < other.size(); ++j) other[j] = other[j] * 1.25f + (j % 2 == 0 ? 0.5f : 0.25f);
      const float* const own = std::exchange(weights[i], other.data());
      const absl::StatusOr<engine::Engine> changed = engine::Engine::Make(*compiled.program, weights, compiled.engine->path());
      ASSERT_TRUE(changed.ok()) << changed.status();
      weights[i] = own;
      EXPECT_NE(Logits(*changed, {picture}), logits) << form.name << " does not read " << weight.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Parity,
                         ::testing::Combine(::testing::ValuesIn(EngineForms()),
                                            ::testing::ValuesIn(cpu::SupportedPaths())),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param).name + "_" + cpu::Name(std::get<1>(info.param));
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace vitrine::testing
