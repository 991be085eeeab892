// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/out_of_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <new>

#include "absl/base/config.h"

namespace vitrine {
namespace {

#ifndef ABSL_HAVE_ADDRESS_SANITIZER  // AddressSanitizer's operator new does not call the handler
TEST(OutOfMemoryDeathTest, PrintsALineAndEndsWithItsExitCode) {
  const auto allocate = [] {
    EndWhenOutOfMemory("vitrine-server");
    ::operator delete(::operator new(std::numeric_limits<ptrdiff_t>::max() - 1));
  };
  EXPECT_EXIT(allocate(), ::testing::ExitedWithCode(kExitOutOfMemory), "^vitrine-server: out of memory; [^\n]+\n$");
}
#endif

}  // namespace
}  // namespace vitrine
