// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

// Overwrites released weights with NaN, so that a later read changes the results.
class Poisoned : public engine::WeightSource {
 public:
  Poisoned(const Compiled& compiled, const std::vector<program::Weight>& names) : names_(names) {
    for (size_t i = 0; i < names.size(); ++i) {
      owned_.emplace_back(compiled.weights[i], compiled.weights[i] + names[i].elements());
    }
  }
  const float* Floats(size_t weight) override { return owned_[weight].data(); }
  void LetGo(size_t weight) override {
    EXPECT_TRUE(released_.insert(weight).second) << names_[weight].name << " is let go twice";
    std::fill(owned_[weight].begin(), owned_[weight].end(), std::numeric_limits<float>::quiet_NaN());
  }
  const std::set<size_t>& released() const { return released_; }

 private:
  const std::vector<program::Weight>& names_;
  std::vector<std::vector<float>> owned_;
  std::set<size_t> released_;
};

class Release : public ::testing::TestWithParam<EngineForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, Release, ::testing::ValuesIn(EngineForms()),
                         [](const auto& form) { return NameOf(form.param, EnginePaths().back()); });

TEST_P(Release, WhatIsReleasedIsNotReadAgain) {
  const Compiled compiled(GetParam().config, EnginePaths().back());
  const std::vector<program::Weight>& names = compiled.program->weights();
  Poisoned weights(compiled, names);
  const auto engine = engine::Engine::Make(*compiled.program, weights, EnginePaths().back());
  ASSERT_TRUE(engine.ok()) << engine.status();
  std::vector<at::Tensor> images;
  for (const auto& [height, width] : GetParam().sizes) {
    images.push_back(RandomImage(GetParam().config.preprocessing().channels(), height, width, images.size() + 1));
  }
  EXPECT_EQ(Logits(*engine, images), compiled.ByEngine(images));
  TokenTap ours, theirs;
  for (TokenTap* const tap : {&ours, &theirs}) {
    for (int stage = TokenTap::kFinal; stage < 3; ++stage) tap->Request(stage);
  }
  Logits(*engine, images, nullptr, &ours);
  Logits(*compiled.engine, images, nullptr, &theirs);
  for (int stage = TokenTap::kFinal; stage < 3; ++stage) {
    const TokenTap::Tokens *our = ours.Find(stage), *their = theirs.Find(stage);
    ASSERT_EQ(our == nullptr, their == nullptr);
    if (our != nullptr) {
      EXPECT_EQ(our->data.values, their->data.values);
    }
  }
  int64_t bytes = 0, gone = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    bytes += names[i].elements();
    if (weights.released().contains(i)) gone += names[i].elements();
  }
  RecordProperty("released_percent", static_cast<int>(100 * gone / std::max<int64_t>(bytes, 1)));
  EXPECT_GT(gone, 0);
}

}  // namespace
}  // namespace vitrine::testing
