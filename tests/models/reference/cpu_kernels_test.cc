// SPDX-License-Identifier: Apache-2.0
// Tests that the reference computes with the instruction set that VITRINE_ISA names, or by default with the best one.
#include "models/reference/operators/cpu_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/simd/chosen_path.h"
#include "models/reference/model.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

// Sets VITRINE_ISA during its lifetime.
class Isa {
 public:
  explicit Isa(const char* value) {
    if (const char* before = std::getenv(cpu::kIsaVariable)) before_ = before;
    setenv(cpu::kIsaVariable, value, 1);
  }
  ~Isa() { setenv(cpu::kIsaVariable, before_.c_str(), 1); }
  Isa(const Isa&) = delete;
  Isa& operator=(const Isa&) = delete;

 private:
  std::string before_;
};

TEST(CpuKernelsDeathTest, UseTheForcedPath) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts a new process, in which no code has requested kernels yet
  const Isa isa("portable");
  EXPECT_EXIT(std::_Exit(&CpuKernels() == &cpu::kPortableKernels ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(CpuKernelsDeathTest, UseTheBestPathByDefault) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Isa isa("");
  EXPECT_EXIT(std::_Exit(&CpuKernels() == cpu::FindKernels(cpu::SupportedPaths().back()) ? 0 : 1),
              ::testing::ExitedWithCode(0), "");
}

TEST(CpuKernels, AnUnknownPathIsAnErrorOfMakeModel) {
  const Isa isa("sve");
  const absl::Status status = MakeModel(FindVariant("kv-mnist-p7-d64-l2")->config).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("VITRINE_ISA is \"sve\""));
}

}  // namespace
}  // namespace vitrine
