// SPDX-License-Identifier: Apache-2.0
// Checks that an engine computes the same bits for an image in any batch and order, while other threads run, and while
// other outputs are requested. Covers the small models of every family with every instruction set of this CPU.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/models/engine/company.h"

namespace vitrine::testing {
namespace {

#ifdef VITRINE_SANITIZED
constexpr int kBatches = 20;  // fewer batches, because sanitizers are slow and find a wrong address in any batch
#else
constexpr int kBatches = 60;  // three of these batches run on teams, of two, three and four threads
#endif

class EngineBits : public ::testing::TestWithParam<std::tuple<EngineForm, cpu::CpuPath>> {};

TEST_P(EngineBits, DependOnlyOnTheImage) {
  const auto& [form, path] = GetParam();
  Company(form, path, /*images=*/8).ExpectChangesNothing({.batches = kBatches, .most_images = 12, .team_every = 20});
}

INSTANTIATE_TEST_SUITE_P(Forms, EngineBits,
                         ::testing::Combine(::testing::ValuesIn(EngineForms()), ::testing::ValuesIn(EnginePaths())),
                         [](const auto& info) { return NameOf(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace vitrine::testing
