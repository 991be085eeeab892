// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/student.h"

#include <gtest/gtest.h>

#include <limits>

namespace vitrine {
namespace {

constexpr double kNormal = std::numeric_limits<double>::infinity();

// Values are scipy.stats.t.sf(t, freedom) and, for the last, scipy.stats.norm.sf(t), of scipy 1.17.1.
TEST(StudentTail, AgreesWithScipy) {
  const struct {
    double t, freedom, tail;
  } kRows[] = {{0.5, 1, 0.35241638234956674},      {2.0, 2, 0.09175170953613698},    {-1.5, 3, 0.8847080673775886},
               {4.302652729749464, 2, 0.025},      {12.0, 5, 3.544746258580761e-05}, {2.5, 29, 0.009162672169213043},
               {40.0, 7, 7.951089992425182e-10},   {0.001, 11, 0.4996100103138505},  {1.0, 1e4, 0.15866735216521458},
               {1.7, kNormal, 0.04456546275854304}};
  for (const auto& row : kRows) {
    EXPECT_NEAR(StudentTail(row.t, row.freedom), row.tail, 1e-9 * row.tail) << row.t << ", " << row.freedom;
  }
  EXPECT_EQ(StudentTail(0, 3), 0.5);
  EXPECT_EQ(StudentTail(std::numeric_limits<double>::infinity(), 3), 0);
}

// Values are scipy.stats.t.isf(tail, freedom) and, for the last, scipy.stats.norm.isf(tail).
TEST(StudentQuantile, AgreesWithScipy) {
  const struct {
    double tail, freedom, t;
  } kRows[] = {{0.025, 1, 12.706204736174705},      {0.025, 2, 4.302652729749464}, {0.025, 15, 2.131449545559776},
               {0.2, 4, 0.9409645772351811},        {1e-6, 9, 10.7201604099095},   {0.025 / 28, 11, 4.0912559921081515},
               {0.025, kNormal, 1.9599639845400545}};
  for (const auto& row : kRows) {
    EXPECT_NEAR(StudentQuantile(row.tail, row.freedom), row.t, 1e-9 * row.t) << row.tail << ", " << row.freedom;
  }
  EXPECT_NEAR(StudentQuantile(0.5, 3), 0, 1e-9);
}

}  // namespace
}  // namespace vitrine
