// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/number_check.h"

#include <gtest/gtest.h>

namespace vitrine {
namespace {

TEST(NumberCheck, RejectsInvalidAndOutOfRangeNumbers) {
  for (const char* text : {"nan", "-nan", "NAN", "inf", "-1", "x", ""}) {
    EXPECT_EQ(NumberFrom(0, 0.5)(std::string(text)), "\"" + std::string(text) + "\" is not a number from 0 to 0.5");
    EXPECT_EQ(PositiveNumber()(std::string(text)), "\"" + std::string(text) + "\" is not a number above 0");
  }
  EXPECT_EQ(PositiveNumber()(std::string("0")), "\"0\" is not a number above 0");
  for (const char* text : {"0", "0.5", "1e-3"}) EXPECT_EQ(NumberFrom(0, 0.5)(std::string(text)), "");
  for (const char* text : {"1e-300", "5", "1e300"}) EXPECT_EQ(PositiveNumber()(std::string(text)), "");
}

}  // namespace
}  // namespace vitrine
