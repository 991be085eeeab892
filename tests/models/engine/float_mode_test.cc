// SPDX-License-Identifier: Apache-2.0
// Tests that an engine computes the same bits under any floating-point mode of the calling thread, and restores that
// mode.
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "models/program/builder.h"
#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#if defined(__x86_64__) || defined(__aarch64__)
namespace vitrine::testing {
namespace {

// The thread's floating-point control word.
#if defined(__x86_64__)
using Control = unsigned;
constexpr Control kKeep = _MM_MASK_MASK, kFlush = kKeep | _MM_FLUSH_ZERO_ON | 0x40;
constexpr Control kRoundings[] = {_MM_ROUND_UP, _MM_ROUND_DOWN, _MM_ROUND_TOWARD_ZERO};
Control Get() {
  return _mm_getcsr();
}
void Set(Control control) {
  _mm_setcsr(control);
}
#else
using Control = uint64_t;
constexpr Control kKeep = 0, kFlush = Control{1} << 24;
constexpr Control kRoundings[] = {Control{1} << 22, Control{2} << 22, Control{3} << 22};
Control Get() {
  Control control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
void Set(Control control) {
  asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
}
#endif

class EngineFloatMode : public ::testing::TestWithParam<cpu::CpuPath> {};
INSTANTIATE_TEST_SUITE_P(, EngineFloatMode, ::testing::ValuesIn(EnginePaths()),
                         [](const auto& info) { return std::string(cpu::Name(info.param)); });

// Returns the result of `compute` under the control word `set`, and expects that `compute` keeps that word.
template <class Compute>
std::vector<float> Under(Control set, const Compute& compute) {
  const Control before = Get();
  Set(set);
  std::vector<float> result = compute();
  const Control after = Get();
  Set(before);
  EXPECT_EQ(after, set) << "the caller's settings changed";
  return result;
}

// Multiplies x by 1e-25, 1e-14 and 1e38. The result is not x / 10, but 0, because an intermediate value is denormal.
TEST_P(EngineFloatMode, DenormalIntermediatesAreZeroForEveryCaller) {
  program::Builder b(1);
  program::Value x = b.Linear("small", b.MeanTokens(b.Patchify(1)), 1, /*bias=*/false);
  x = b.Linear("denormal", x, 1, /*bias=*/false);
  const program::Program program = b.Take(b.Linear("large", x, 1, /*bias=*/false));
  const float small = 1e-25F, smaller = 1e-14F, large = 1e38F, pixel = 1;
  const absl::StatusOr<engine::Engine> engine =
      engine::Engine::Make(program, std::vector<const float*>{&small, &smaller, &large}, GetParam());
  ASSERT_TRUE(engine.ok()) << engine.status();
  const auto logits = [&] { return Logits(*engine, {at::full({1, 1, 1}, pixel)}); };
  EXPECT_EQ(Under(kKeep, logits), std::vector<float>{0});
  EXPECT_EQ(Under(kFlush, logits), std::vector<float>{0});
}

// Engine::Make runs under each rounding mode, because it rounds when it folds weights.
TEST_P(EngineFloatMode, BitsDoNotDependOnTheCallersRounding) {
  for (const EngineForm& form : EngineForms()) {
    if (form.name != "eit" && form.name != "xcit_f_sne" && form.name != "kv-pos-mnist-p7-d64-l2") continue;
    const auto [height, width] = form.sizes[0];
    const at::Tensor image = RandomImage(form.config.preprocessing().channels(), height, width, 1);
    const Compiled compiled(form.config, GetParam());
    const std::vector<float> expected = compiled.ByEngine({image});
    for (const Control rounding : kRoundings) {
      EXPECT_EQ(Under(kKeep | rounding,
                      [&] {
                        const absl::StatusOr<engine::Engine> engine =
                            engine::Engine::Make(*compiled.program, compiled.weights, GetParam());
                        return Logits(*engine, {image});
                      }),
                expected)
          << form.name;
    }
  }
}

}  // namespace
}  // namespace vitrine::testing

#endif
