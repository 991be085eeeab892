// SPDX-License-Identifier: Apache-2.0
// Checks that an engine computes the same bits for an image alone and in any batch and order, with other threads
// running, and with any other outputs requested. Covers every form of every family on every path of this CPU.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/models/engine/company.h"

namespace vitrine::testing {
namespace {

#ifdef VITRINE_SANITIZED
constexpr int kBatches = 20;  // fewer, since sanitizers are slow; a sanitizer finds a wrong address in any batch
#else
constexpr int kBatches = 60;  // three of these batches run on teams, of two, three and four threads
#endif

class Bits : public ::testing::TestWithParam<std::tuple<EngineForm, cpu::CpuPath>> {};

TEST_P(Bits, DependOnTheImageAlone) {
  const auto& [form, path] = GetParam();
  Company(form, path, /*images=*/8).ExpectChangesNothing({.batches = kBatches, .most_images = 12, .team_every = 20});
}

INSTANTIATE_TEST_SUITE_P(Forms, Bits,
                         ::testing::Combine(::testing::ValuesIn(EngineForms()), ::testing::ValuesIn(EnginePaths())),
                         [](const auto& info) { return NameOf(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace vitrine::testing
