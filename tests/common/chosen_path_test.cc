// SPDX-License-Identifier: Apache-2.0
#include "common/simd/chosen_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace vitrine::cpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<CpuPath> kAll = {CpuPath::kPortable, CpuPath::kAvx2, CpuPath::kAvx512, CpuPath::kAvx512Bf16,
                                   CpuPath::kAmx};
const std::vector<CpuPath> kOld = {CpuPath::kPortable, CpuPath::kAvx2};

TEST(ChosenPath, IsTheBestIfNothingIsSet) {
  EXPECT_EQ(*ChoosePath("", kAll), CpuPath::kAmx);
  EXPECT_EQ(*ChoosePath("", kOld), CpuPath::kAvx2);
}

TEST(ChosenPath, IsTheNamedPath) {
  EXPECT_EQ(*ChoosePath("portable", kAll), CpuPath::kPortable);
  EXPECT_EQ(*ChoosePath("avx2", kAll), CpuPath::kAvx2);
  EXPECT_EQ(*ChoosePath("avx512", kAll), CpuPath::kAvx512);
  EXPECT_EQ(*ChoosePath("avx512_bf16", kAll), CpuPath::kAvx512Bf16);
  EXPECT_EQ(*ChoosePath("amx", kAll), CpuPath::kAmx);
}

TEST(ChosenPath, AnUnknownNameIsRefusedWithTheKnownNames) {
  for (const char* name : {"avx", "AVX2", "avx512_vnni", " avx2"}) {
    const absl::Status status = ChoosePath(name, kAll).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("VITRINE_ISA"), HasSubstr(name),
                                                     HasSubstr("portable, neon, avx2, avx512, avx512_bf16, amx")));
  }
}

TEST(ChosenPath, AnUnsupportedPathIsRefusedWithTheSupportedNames) {
  const absl::Status status = ChoosePath("avx512", kOld).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "VITRINE_ISA is avx512, which this CPU cannot run; it can run portable, avx2");
}

TEST(ChosenPath, ComesFromTheEnvironment) {
  const char* const before = std::getenv(kIsaVariable);
  const std::string kept = before == nullptr ? "" : before;
  setenv(kIsaVariable, "portable", 1);
  EXPECT_EQ(*ChosenPath(), CpuPath::kPortable);
  setenv(kIsaVariable, "mmx", 1);
  EXPECT_EQ(ChosenPath().status().code(), absl::StatusCode::kInvalidArgument);
  setenv(kIsaVariable, "", 1);
  EXPECT_EQ(*ChosenPath(), SupportedPaths().back());
  unsetenv(kIsaVariable);
  EXPECT_EQ(*ChosenPath(), SupportedPaths().back());
  if (before != nullptr) setenv(kIsaVariable, kept.c_str(), 1);
}

}  // namespace
}  // namespace vitrine::cpu
