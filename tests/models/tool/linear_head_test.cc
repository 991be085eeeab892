// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/head/linear_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace vitrine {
namespace {

using ::testing::HasSubstr;

// Features of two classes. Each feature is one number; its mean is 1 in the first class and 5 in the second class.
const LabelledFeatures kLine = {.width = 1, .classes = 2, .values = {0, 2, 4, 6}, .labels = {0, 0, 1, 1}};

// Returns the first logit minus the second.
double Margin(const LinearHead& head, double x) {
  return (head.weight[0] - head.weight[1]) * x + head.bias[0] - head.bias[1];
}

TEST(LinearHead, PrototypesSeparateHalfwayBetweenTheMeans) {
  const LinearHead head = FitPrototypes(kLine).value();
  EXPECT_NEAR(Margin(head, 3), 0, 1e-12);
  // The margin is x (1 - 5) - (1 - 25) / 2, times a factor.
  EXPECT_NEAR(Margin(head, 0) / Margin(head, 2), 12.0 / 4, 1e-12);
  EXPECT_GT(Margin(head, 0), 0);
  EXPECT_EQ(head.correct, 4);
}

// The centred features -3, -1, 1 and 3 have the sum of squares 20. With alpha 20, the first weight is therefore -4 /
// 40, and the centred bias is 1/2. If the image at 2 is left out of the fit, its first logit is 1/3 + (10/3) / (56/3 +
// 20) * 4/3. This is below 1/2, so its class is wrong. The same holds for the image at 4.
TEST(LinearHead, ProbeAgreesWithRidgeRegression) {
  const LinearHead head = FitProbe(kLine, 20).value();
  EXPECT_NEAR(head.weight[1], -head.weight[0], 1e-12);
  EXPECT_NEAR(head.bias[0] / head.weight[0], (0.5 + 0.1 * 3) / -0.1, 1e-9);
  EXPECT_NEAR(head.bias[1] / head.weight[1], (0.5 - 0.1 * 3) / 0.1, 1e-9);
  EXPECT_EQ(head.alpha, 20);
  EXPECT_EQ(head.correct, 2);
}

// Nine tenths of the images with each feature have the same label.
TEST(LinearHead, ProbabilitiesAreCalibratedOnLeftOutImages) {
  LabelledFeatures features = {.width = 1, .classes = 2};
  for (int i = 0; i < 400; ++i) {
    const int side = i % 2;
    features.values.push_back(side);
    features.labels.push_back(i % 20 < 2 ? 1 - side : side);
  }
  for (const LinearHead& head : {FitPrototypes(features).value(), FitProbe(features, std::nullopt).value()}) {
    EXPECT_EQ(head.correct, 360);
    EXPECT_NEAR(1 / (1 + std::exp(-Margin(head, 0))), 0.9, 0.005);
    EXPECT_NEAR(1 / (1 + std::exp(Margin(head, 1))), 0.9, 0.005);
  }
}

// Classifiers of scikit-learn that tests/oracle/linear_head.py recorded.
struct Recorded {
  LabelledFeatures features;
  double alpha;
  std::vector<double> weight, bias;
  int64_t correct;  // images that are classified correctly if left out of the fit
  double chosen_alpha;
  std::vector<double> centroids;
  int64_t centroids_correct;
};
const Recorded kRecorded = {
#include "tests/golden/linear_head.inc"
};

// Expects `values` to be `expected` times the head's factor.
void ExpectMultiple(const std::vector<double>& values, const std::vector<double>& expected, double factor) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i] / factor, expected[i], 1e-9) << i;
}

TEST(LinearHead, ProbeEqualsRidgeClassifier) {
  const LinearHead head = FitProbe(kRecorded.features, kRecorded.alpha).value();
  const double factor = head.weight[0] / kRecorded.weight[0];
  EXPECT_GT(factor, 0);
  ExpectMultiple(head.weight, kRecorded.weight, factor);
  ExpectMultiple(head.bias, kRecorded.bias, factor);
  EXPECT_EQ(head.correct, kRecorded.correct);
}

TEST(LinearHead, AlphaEqualsThatOfRidgeClassifierCV) {
  EXPECT_EQ(FitProbe(kRecorded.features, std::nullopt)->alpha, kRecorded.chosen_alpha);
}

TEST(LinearHead, PrototypesEqualNearestCentroid) {
  const LinearHead head = FitPrototypes(kRecorded.features).value();
  const std::vector<double>& means = kRecorded.centroids;
  const auto width = static_cast<size_t>(kRecorded.features.width);
  std::vector<double> weight, bias;  // minus the values of the last class, because logits may have a common offset
  const auto relative = [&](const std::vector<double>& of, size_t i, size_t row) {
    return of[i] - of[of.size() - row + i % row];
  };
  std::vector<double> squares;
  for (size_t c = 0; c < means.size() / width; ++c) {
    squares.push_back(-std::inner_product(&means[c * width], &means[c * width] + width, &means[c * width], 0.0) / 2);
  }
  const double factor = relative(head.weight, 0, width) / relative(means, 0, width);
  EXPECT_GT(factor, 0);
  for (size_t i = 0; i < means.size(); ++i) {
    EXPECT_NEAR(relative(head.weight, i, width) / factor, relative(means, i, width), 1e-9) << i;
  }
  for (size_t c = 0; c < squares.size(); ++c) {
    EXPECT_NEAR(relative(head.bias, c, 1) / factor, relative(squares, c, 1), 1e-6) << c;
  }
  EXPECT_EQ(head.correct, kRecorded.centroids_correct);
}

TEST(LinearHead, RefusesEqualFeaturesAndAnAlphaBelowRounding) {
  LabelledFeatures equal = kLine;
  equal.values.assign(4, 7);
  for (const absl::Status& refused : {FitPrototypes(equal).status(), FitProbe(equal, 1).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("features of all images are equal"));
  }
  const LabelledFeatures wide = {.width = 2, .classes = 2, .values = {0, 0, 1, 1, 2, 2, 3, 3}, .labels = {0, 0, 1, 1}};
  EXPECT_TRUE(FitProbe(wide, 1e-3).ok());
  EXPECT_THAT(FitProbe(wide, 1e-20).status().message(), HasSubstr("--alpha 1e-20 is too small"));
}

}  // namespace
}  // namespace vitrine
