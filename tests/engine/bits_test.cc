// SPDX-License-Identifier: Apache-2.0
// A picture's logits are the same bits alone and in any batch, in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/engine/compiled.h"
#include "tests/reference/pictures.h"

namespace vitrine::testing {
namespace {

class Bits : public ::testing::TestWithParam<EngineForm> {};

TEST_P(Bits, DependOnThePictureAlone) {
  const Compiled compiled(GetParam().config, cpu::SupportedPaths().back());
  const int channels = GetParam().config.preprocessing().channels();
  std::vector<at::Tensor> pictures;
  std::vector<std::vector<float>> alone;
  for (size_t i = 0; i < 8; ++i) {
    const auto [height, width] = GetParam().sizes[i % GetParam().sizes.size()];
    pictures.push_back(Picture(channels, height, width, i));
    alone.push_back(compiled.ByEngine({pictures.back()}));
  }
  ASSERT_NE(alone[0], alone[1]);
  std::mt19937 random(7);
  for (int batch = 0; batch < 20; ++batch) {
    std::vector<size_t> order(1 + random() % 12);
    for (size_t& place : order) place = random() % pictures.size();
    std::vector<at::Tensor> mates;
    for (const size_t place : order) mates.push_back(pictures[place]);
    const std::vector<float> logits = compiled.ByEngine(mates);
    const size_t classes = alone[0].size();
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(std::memcmp(&logits[i * classes], alone[order[i]].data(), classes * sizeof(float)), 0)
          << "picture " << i << " of " << order.size();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Bits, ::testing::ValuesIn(EngineForms()), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
});

}  // namespace
}  // namespace vitrine::testing
