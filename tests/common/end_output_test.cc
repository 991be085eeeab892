// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "common/command_line/command_line.h"

namespace vitrine {
namespace {

// Ends the process like a program that has written "result" to the file `out`.
void EndAfterWriting(const char* out, int exit_code) {
  if (std::freopen(out, "w", stdout) == nullptr) _exit(99);
  std::cout << "result\n";
  _exit(EndOutput("vitrine", exit_code));
}

TEST(EndOutput, IsAFailureOnAFullDisk) {
  const char* sentence = "^vitrine: the standard output cannot be written: No space left on device\n$";
  EXPECT_EXIT(EndAfterWriting("/dev/full", kExitSuccess), testing::ExitedWithCode(kExitFailure), sentence);
  EXPECT_EXIT(EndAfterWriting("/dev/full", kExitUsage), testing::ExitedWithCode(kExitUsage), sentence);
}

TEST(EndOutput, KeepsTheExitCodeIfTheOutputWasWritten) {
  EXPECT_EXIT(EndAfterWriting("/dev/null", kExitSuccess), testing::ExitedWithCode(kExitSuccess), "^$");
  EXPECT_EXIT(EndAfterWriting("/dev/null", kExitUsage), testing::ExitedWithCode(kExitUsage), "^$");
}

TEST(EndOutput, RemembersAnEarlierFailure) {
  const auto end = [] {
    if (std::freopen("/dev/full", "w", stdout) == nullptr) _exit(99);
    std::cout << "lost" << std::flush;
    std::cout.clear();
    _exit(EndOutput("vitrine", kExitSuccess));
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(kExitFailure), "the standard output cannot be written");
}

}  // namespace
}  // namespace vitrine
