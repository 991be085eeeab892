// SPDX-License-Identifier: Apache-2.0
#include "client/eval/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/statistics/temperature.h"
#include "tests/client/eval/made_evaluation.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;

// Returns an evaluation of 200 images of five classes. About three quarters of the images are classified correctly.
Evaluation MadeLogits() {
  std::vector<MadeImage> images;
  std::vector<std::vector<float>> logits;
  for (int i = 0; i < 200; ++i) {
    std::vector<float> row;
    for (int j = 0; j < 5; ++j) row.push_back(static_cast<float>(4 * std::sin(double(7 * i * i + 3 * j * j + i * j))));
    const int top = static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
    images.push_back({i % 3 == 0 ? (i / 3) % 5 : top, {{top, 0.5F}}});
    logits.push_back(std::move(row));
  }
  Evaluation made = MadeEvaluation(images, MadeLabels(5));
  for (size_t i = 0; i < logits.size(); ++i) made.predictions[i].logits = logits[i];
  return made;
}

std::vector<LabelledLogits> Labelled(const std::vector<std::vector<float>>& rows, const std::vector<int>& labels) {
  std::vector<LabelledLogits> images;
  for (size_t i = 0; i < rows.size(); ++i) images.push_back({rows[i], labels[i]});
  return images;
}

// There are two classes, whose logits differ by `m`. The share `a` of the images is classified correctly. The best
// temperature T then satisfies 1 / (1 + exp(-m / T)) = a.
TEST(Temperature, EqualsTheAlgebraicSolution) {
  const std::vector<std::vector<float>> rows(10, {3, 0});
  EXPECT_NEAR(FitTemperature(Labelled(rows, {0, 0, 0, 0, 0, 0, 0, 0, 1, 1})), 3 / std::log(0.8 / 0.2), 1e-12);
  EXPECT_NEAR(FitTemperature(Labelled(rows, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1})), 3 / std::log(0.9 / 0.1), 1e-12);
}

TEST(Temperature, HasBounds) {
  const std::vector<std::vector<float>> rows(2, {3, 0});
  EXPECT_EQ(FitTemperature(Labelled(rows, {0, 0})), kColdest) << "with only correct answers T must be the minimum";
  EXPECT_EQ(FitTemperature(Labelled(rows, {1, 1})), kHottest) << "with only wrong answers T must be the maximum";
  EXPECT_EQ(FitTemperature(Labelled(rows, {0, 1})), kHottest)
      << "with half of the answers correct T must be the maximum";
  EXPECT_EQ(FitTemperature(Labelled({{2, 2}}, {0})), kHottest) << "if all logits are equal, T must be the maximum";
}

// Computed with scipy 1.17.1 and scikit-learn 1.9.1: minimize_scalar over the mean of -log_softmax(z / T), log_loss and
// brier_score_loss. The thresholds were determined by counting.
TEST(Calibrate, AgreesWithScipyAndScikitLearn) {
  const absl::StatusOr<FittedCalibration> fitted = Calibrate(MadeLogits(), 0.8);
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  EXPECT_EQ(fitted->temperature, 2.49429);
  EXPECT_EQ(fitted->images, 200);
  EXPECT_NEAR(fitted->uncalibrated.nll, 1.5617103416894345, 1e-6);
  EXPECT_NEAR(fitted->uncalibrated.brier, 0.5708185159191501, 1e-6);
  EXPECT_NEAR(fitted->uncalibrated.ece, 0.20897093325850036, 1e-6);
  EXPECT_NEAR(fitted->calibrated.nll, 1.2634177272919058, 1e-6);
  EXPECT_NEAR(fitted->calibrated.brier, 0.6154076723287407, 1e-6);
  EXPECT_NEAR(fitted->calibrated.ece, 0.28088639574636537, 1e-6);
  EXPECT_EQ(fitted->unsure_below, 0.559);
  EXPECT_EQ(fitted->sure, 32);
  EXPECT_EQ(fitted->sure_correct, 26);
  EXPECT_EQ(Calibrate(MadeLogits(), 0.9)->unsure_below, 0.662);
  EXPECT_EQ(Calibrate(MadeLogits(), 0)->unsure_below, 0.0) << "without a required accuracy, every answer must be sure";
}

TEST(Calibrate, ThereMayBeNoThresholdForTheRequiredAccuracy) {
  Evaluation made = MadeLogits();
  for (Prediction& p : made.predictions) {
    const auto top = std::max_element(p.logits.begin(), p.logits.end()) - p.logits.begin();
    p.label = (static_cast<int>(top) + 1) % 5;
  }
  const absl::StatusOr<FittedCalibration> fitted = Calibrate(made, 0.5);
  ASSERT_TRUE(fitted.ok());
  EXPECT_FALSE(fitted->unsure_below.has_value());
  EXPECT_TRUE(FittedCalibrationJson(made, *fitted).at("unsure_below").is_null());
  EXPECT_THAT(FittedCalibrationText(*fitted), HasSubstr("give a lower --sure-accuracy"));
}

TEST(Calibrate, NamesTheDataWithoutTheirPath) {
  Evaluation made = MadeLogits();
  made.data = "imagefolder:/home/somebody/pets/";
  made.settings.shard = {2, 5};
  const nlohmann::ordered_json json = FittedCalibrationJson(made, *Calibrate(made, 0.8));
  EXPECT_EQ(json.at("data"), "pets test, shard 2/5");
  EXPECT_EQ(json.at("weights_sha256"), std::string(64, 'a'));
  EXPECT_EQ(json.at("sure").at("coverage"), 0.16);
  EXPECT_EQ(json.at("sure").at("accuracy"), 0.8125);
}

TEST(Calibrate, ErrorsNameTheSolution) {
  Evaluation made = MadeLogits();
  EXPECT_TRUE(CheckCalibratable(made, 5).ok());
  made.predictions.resize(99);
  EXPECT_THAT(std::string(Calibrate(made, 0.8).status().message()), HasSubstr("but 99 were answered"));
  made = MadeLogits();
  made.predictions[7].logits.clear();
  for (const absl::Status& status : {Calibrate(made, 0.8).status(), CheckCalibratable(made, 5)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("--restart requests them"));
  }
  made.predictions[7].outcome = Outcome::kRefused;
  EXPECT_TRUE(Calibrate(made, 0.8).ok()) << "an image without an answer needs no logits";
  const Evaluation many = MadeEvaluation({}, MadeLabels(1001));
  EXPECT_THAT(std::string(CheckCalibratable(many, 5).message()), HasSubstr("--top-k 1001"));
  EXPECT_TRUE(CheckCalibratable(many, 1001).ok());
}

}  // namespace
}  // namespace vitrine
