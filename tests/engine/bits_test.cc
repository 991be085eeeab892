// SPDX-License-Identifier: Apache-2.0
// What an engine says of a picture are the same bits alone and in any batch, in any order, with other threads at work,
// whatever else is asked for: for every form of every family, on every path that this CPU has.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/engine/company.h"

namespace vitrine::testing {
namespace {

#ifdef VITRINE_SANITIZED
constexpr int kBatches = 20;  // ten times as slow, and of a wrong address one batch tells
#else
constexpr int kBatches = 200;
#endif

class Bits : public ::testing::TestWithParam<std::tuple<EngineForm, cpu::CpuPath>> {};

TEST_P(Bits, DependOnThePictureAlone) {
  const auto& [form, path] = GetParam();
  Company(form, path, /*pictures=*/8)
      .ExpectChangesNothing({.batches = kBatches, .most_pictures = 12, .team_every = 68});
}

INSTANTIATE_TEST_SUITE_P(Forms, Bits,
                         ::testing::Combine(::testing::ValuesIn(EngineForms()), ::testing::ValuesIn(EnginePaths())),
                         [](const auto& info) { return NameOf(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace vitrine::testing
