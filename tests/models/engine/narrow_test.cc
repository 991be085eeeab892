// SPDX-License-Identifier: Apache-2.0
// Tests whole models in the narrow precisions, bf16 and int8, with every instruction set that has kernels for them.
// Logits must be near the reference, an image must have the same bits in any batch, and operators in
// PrecisionChoice::kept must not be narrow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "models/engine/cpu/instructions.h"
#include "models/engine/cpu/kernels/narrow_kernels.h"
#include "models/program/readers.h"
#include "tests/models/engine/company.h"
#include "tests/models/engine/compiled.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

#ifdef VITRINE_SANITIZED
constexpr int kNarrowBatches = 4;
#else
constexpr int kNarrowBatches = 16;
#endif

struct NarrowPath {
  cpu::CpuPath path;
  Precision precision;
  bool operator==(const NarrowPath&) const = default;
};

std::vector<NarrowPath> NarrowPaths() {
  std::vector<NarrowPath> all;
  for (const cpu::CpuPath path : cpu::SupportedPaths()) {
    for (const Precision precision : {Precision::kBf16, Precision::kInt8}) {
      if (engine::CanCompute(precision, path).ok()) all.push_back({path, precision});
    }
  }
  return all;
}

std::string NameOf(const NarrowPath& narrow) {
  return absl::StrCat(cpu::Name(narrow.path), "_", Name(narrow.precision));
}

std::string NameOf(const EngineForm& form, const NarrowPath& narrow) {
  return absl::StrCat(NameOf(form, narrow.path), "_", Name(narrow.precision));
}

// Returns the tolerance for models with random weights, relative to the largest logit. bf16 values have a mantissa of 8
// bits; int8 values have 8 bits for the range of a row.
double ToleranceOf(Precision precision) {
  return precision == Precision::kBf16 ? 0.02 : 0.03;
}

// Returns the operators that int8 engines never compute in int8. These operators are computed in bf16, or in fp32 if
// PrecisionChoice::kept names them.
std::set<std::string> Bf16InInt8(const program::Program& program) {
  std::set<std::string> names;
  for (const program::Operator& op : program.operators()) {
    const bool attends = op.As<program::Attend>() != nullptr || op.As<program::AttendChannels>() != nullptr;
    if (attends || op.As<program::Convolve>() != nullptr) names.insert(op.name);
  }
  return names;
}

class Narrow : public ::testing::TestWithParam<std::tuple<EngineForm, NarrowPath>> {
 protected:
  const EngineForm& form() const { return std::get<0>(GetParam()); }
  const NarrowPath& narrow() const { return std::get<1>(GetParam()); }

  std::vector<at::Tensor> Images() const {
    std::vector<at::Tensor> images;
    for (size_t i = 0; i < 5; ++i) {
      const auto [height, width] = form().sizes[i % form().sizes.size()];
      images.push_back(RandomImage(form().config.preprocessing().channels(), height, width, i));
    }
    return images;
  }
};

TEST_P(Narrow, IsCloseToTheReference) {
  const Compiled compiled(form().config, narrow().path, {.precision = narrow().precision, .kept = {}});
  const std::vector<at::Tensor> images = Images();
  const std::vector<float> reference = compiled.ByReference(images), ours = compiled.ByEngine(images);
  EXPECT_LE(Apart(ours, reference), ToleranceOf(narrow().precision));
  EXPECT_NE(Apart(ours, reference), 0);
}

TEST(PathOf, ReturnsThePathOfThePrecisionsKernels) {
  EXPECT_EQ(engine::PathOf(cpu::CpuPath::kAmx, Precision::kFp32), cpu::CpuPath::kAvx512);
  for (const Precision precision : {Precision::kBf16, Precision::kInt8}) {
    EXPECT_EQ(engine::PathOf(cpu::CpuPath::kAmx, precision), cpu::CpuPath::kAmx);
    EXPECT_EQ(engine::PathOf(cpu::CpuPath::kAvx2, precision), cpu::CpuPath::kAvx2);
  }
  for (const cpu::CpuPath path : cpu::SupportedPaths()) {
    EXPECT_EQ(engine::PathOf(path, Precision::kFp32), engine::FindKernels(path)->path);
  }
}

// If PrecisionChoice::kept names all operators, bf16 operators are computed in fp32. int8 operators are computed in
// bf16, or in fp32 if the instruction set has no bf16 kernels. Operators that are never int8 are computed in fp32.
TEST_P(Narrow, KeptOperatorsUseAWiderPrecision) {
  PrecisionChoice choice = {.precision = narrow().precision, .kept = {}};
  const Compiled fp32(form().config, narrow().path);
  for (const program::Operator& op : fp32.program->operators()) choice.kept.insert(op.name);
  const Compiled kept(form().config, narrow().path, choice);
  const bool widest =
      narrow().precision == Precision::kBf16 || !engine::CanCompute(Precision::kBf16, narrow().path).ok();
  PrecisionChoice next;
  if (!widest) next = {.precision = Precision::kBf16, .kept = Bf16InInt8(*fp32.program)};
  const Compiled wider(form().config, narrow().path, next);
  const std::vector<at::Tensor> images = Images();
  EXPECT_EQ(kept.ByEngine(images), wider.ByEngine(images));
}

// Tests for bf16 only, because int8 engines also compute the stem's convolutions in bf16.
class NarrowBf16 : public Narrow {};

std::vector<NarrowPath> Bf16NarrowPaths() {
  std::vector<NarrowPath> paths = NarrowPaths();
  std::erase_if(paths, [](const NarrowPath& narrow) { return narrow.precision != Precision::kBf16; });
  return paths;
}

// Even if PrecisionChoice::kept names all other operators, the convolutions of the stem are computed in bf16. If one of
// these convolutions also pools, all of them are computed in fp32.
TEST_P(NarrowBf16, StemConvolutionsAreNarrowUnlessOnePools) {
  PrecisionChoice choice = {.precision = Precision::kBf16, .kept = {}};
  const Compiled fp32(form().config, narrow().path);
  bool convolves = false, pools = false;
  for (const program::Operator& op : fp32.program->operators()) {
    const auto* const convolve = op.As<program::Convolve>();
    convolves |= convolve != nullptr;
    pools |= convolve != nullptr && convolve->pool > 0;
    if (convolve == nullptr) choice.kept.insert(op.name);
  }
  const Compiled narrow_stem(form().config, narrow().path, choice);
  const std::vector<at::Tensor> images = Images();
  EXPECT_EQ(narrow_stem.ByEngine(images) != fp32.ByEngine(images), convolves && !pools);
}

// Tests only bf16, because a row of int8 values cannot represent NaN.
TEST_P(NarrowBf16, NanInAnImageReachesTheLogits) {
  const Compiled compiled(form().config, narrow().path, {.precision = narrow().precision, .kept = {}});
  const at::Tensor image = Images()[0].clone().fill_(NAN);
  for (const float logit : compiled.ByEngine({image})) EXPECT_TRUE(std::isnan(logit));
}

// With 16 lanes, a GELU after a depthwise convolution is computed by NarrowGelu.
TEST_P(NarrowBf16, DepthwiseConvolutionsUseNarrowGelu) {
  PrecisionChoice choice = {.precision = Precision::kBf16, .kept = {}};
  const Compiled fp32(form().config, narrow().path);
  const program::SingleReaderIndex readers(*fp32.program);
  bool activates = false;
  for (const program::Operator& op : fp32.program->operators()) {
    const auto* const grid = op.As<program::ConvolveGrid>();
    if (grid != nullptr && grid->depthwise && readers.GeluAfter(&op) != nullptr) {
      activates = true;
    } else {
      choice.kept.insert(op.name);
    }
  }
  const Compiled narrow_gelu(form().config, narrow().path, choice);
  const std::vector<at::Tensor> images = Images();
  const bool looks_up = engine::FindBf16Kernels(narrow().path)->vector_columns == 16;
  EXPECT_EQ(narrow_gelu.ByEngine(images) != fp32.ByEngine(images), activates && looks_up);
}

TEST_P(Narrow, DependsOnlyOnTheImage) {
  Company(form(), narrow().path, /*images=*/6, {.precision = narrow().precision, .kept = {}})
      .ExpectChangesNothing({.batches = kNarrowBatches, .most_images = 9});
}

INSTANTIATE_TEST_SUITE_P(Forms, Narrow,
                         ::testing::Combine(::testing::ValuesIn(EngineForms()), ::testing::ValuesIn(NarrowPaths())),
                         [](const auto& info) { return NameOf(std::get<0>(info.param), std::get<1>(info.param)); });

INSTANTIATE_TEST_SUITE_P(Forms, NarrowBf16,
                         ::testing::Combine(::testing::ValuesIn(EngineForms()), ::testing::ValuesIn(Bf16NarrowPaths())),
                         [](const auto& info) { return NameOf(std::get<0>(info.param), std::get<1>(info.param)); });

// All instruction sets with narrow kernels. The test of an instruction set that this CPU lacks is skipped, so a run
// reports which instruction sets it compared.
constexpr NarrowPath kEveryNarrowPath[] = {
    {cpu::CpuPath::kPortable, Precision::kInt8},   {cpu::CpuPath::kPortable, Precision::kBf16},
    {cpu::CpuPath::kNeon, Precision::kInt8},       {cpu::CpuPath::kNeon, Precision::kBf16},
    {cpu::CpuPath::kAvx2, Precision::kInt8},       {cpu::CpuPath::kAvx512, Precision::kInt8},
    {cpu::CpuPath::kAvx512Bf16, Precision::kInt8}, {cpu::CpuPath::kAmx, Precision::kInt8},
    {cpu::CpuPath::kAvx512Bf16, Precision::kBf16}, {cpu::CpuPath::kAmx, Precision::kBf16},
};

class NarrowEnginePath : public ::testing::TestWithParam<NarrowPath> {};

TEST_P(NarrowEnginePath, IsTestedOnThisCpu) {
  const absl::Status can = engine::CanCompute(GetParam().precision, GetParam().path);
  if (!can.ok()) GTEST_SKIP() << "this CPU cannot run " << NameOf(GetParam()) << ": " << can.message();
  const std::vector<NarrowPath> compared = NarrowPaths();
  EXPECT_NE(std::find(compared.begin(), compared.end(), GetParam()), compared.end());
}

INSTANTIATE_TEST_SUITE_P(, NarrowEnginePath, ::testing::ValuesIn(kEveryNarrowPath),
                         [](const auto& info) { return NameOf(info.param); });

TEST(NarrowEngine, EveryTestedPathIsListed) {
  for (const NarrowPath& narrow : NarrowPaths()) {
    EXPECT_NE(std::find(std::begin(kEveryNarrowPath), std::end(kEveryNarrowPath), narrow), std::end(kEveryNarrowPath))
        << NameOf(narrow);
  }
}

TEST(NarrowEngine, RefusesKeptOperatorsThatTheModelLacks) {
  const Compiled compiled(EngineForms()[0].config, cpu::CpuPath::kPortable);
  const auto made = engine::Engine::Make(*compiled.program, compiled.weights, cpu::CpuPath::kPortable,
                                         {.precision = Precision::kInt8, .kept = {"blocks.77.mlp.fc1"}});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(made.status().message().find("'blocks.77.mlp.fc1'"), std::string::npos) << made.status();
}

TEST(NarrowEngine, RefusesPrecisionsThatTheCpuLacks) {
  for (const cpu::CpuPath path : cpu::SupportedPaths()) {
    if (engine::FindBf16Kernels(path) != nullptr) continue;
    const absl::Status status = engine::CanCompute(Precision::kBf16, path);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << cpu::Name(path);
    EXPECT_NE(status.message().find("AVX512_BF16"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace vitrine::testing
