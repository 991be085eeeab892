// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/head_diversity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace vitrine {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Optional;

TEST(HeadDiversity, IsTheMeanDeviationOfAllLayersExceptTheFirst) {
  const double distances[] = {0, 100, 2, 6,
                              5, 5,   1, 7};  // the heads of the first layer differ most, but must not count
  const HeadDiversity found = DiversityOf(distances, 2);
  EXPECT_THAT(found.means, ElementsAre(50, 4, 5, 4));
  EXPECT_THAT(found.deviations, ElementsAre(50, 2, 0, 3));
  EXPECT_THAT(found.diversity, Optional(DoubleEq(5.0 / 3)));
}

TEST(HeadDiversity, IsZeroForASingleHeadAndUndefinedForASingleLayer) {
  const double distances[] = {3, 8};
  EXPECT_THAT(DiversityOf(distances, 1).deviations, ElementsAre(0, 0));
  EXPECT_THAT(DiversityOf(distances, 1).diversity, Optional(0.0));
  EXPECT_THAT(DiversityOf(distances, 2).deviations, ElementsAre(2.5));
  EXPECT_EQ(DiversityOf(distances, 2).diversity, std::nullopt);
}

TEST(HeadDiversity, LeavesOutHeadsWithoutADistance) {
  const double distances[] = {1, 1, 1, 2, NAN, 6, NAN, NAN, NAN};
  const HeadDiversity found = DiversityOf(distances, 3);
  EXPECT_THAT(found.means, ElementsAre(1, 4, ::testing::IsNan()));
  EXPECT_THAT(found.deviations, ElementsAre(0, 2, ::testing::IsNan()));
  EXPECT_THAT(found.diversity, Optional(2.0)) << "the layer without distances must not count";
  const double none[] = {1, NAN};
  EXPECT_EQ(DiversityOf(none, 1).diversity, std::nullopt);
}

}  // namespace
}  // namespace vitrine
