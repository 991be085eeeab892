// SPDX-License-Identifier: Apache-2.0
#include "common/simd/cpu_description.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vitrine::cpu {
namespace {

// Returns the first value of each property in /proc/cpuinfo.
std::map<std::string, std::string> Findings() {
  std::map<std::string, std::string> findings;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    std::string value = parts.second;
    absl::RemoveExtraAsciiWhitespace(&value);
    findings.emplace(absl::StripAsciiWhitespace(parts.first), value);
  }
  return findings;
}

TEST(CpuDescription, EqualsTheDescriptionOfTheKernel) {
#if defined(__x86_64__)
  std::map<std::string, std::string> findings = Findings();
  ASSERT_EQ(findings.count("model name"), 1U);
  EXPECT_EQ(CpuDescription(),
            absl::StrCat(findings["model name"], ", family ", findings["cpu family"], ", model ", findings["model"]));
#else
  EXPECT_EQ(CpuDescription(), "portable");
#endif
}

}  // namespace
}  // namespace vitrine::cpu
