// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_PAGE_PAGE_SECTIONS_H_
#define VITRINE_CLIENT_EVAL_PAGE_PAGE_SECTIONS_H_

#include <span>
#include <string>
#include <vector>

#include "client/eval/page/page.h"
#include "common/charts/html/html.h"

namespace vitrine {

// Add the sections of RenderPage.
void AddKeyFigures(const EvaluationPage& input, HtmlPage& page);
void AddLedger(const EvaluationPage& input, HtmlPage& page);
void AddClasses(const EvaluationPage& input, HtmlPage& page);
void AddConfusion(const EvaluationPage& input, HtmlPage& page);
void AddMistakes(const EvaluationPage& input, HtmlPage& page);
void AddCalibration(const EvaluationPage& input, HtmlPage& page);
void AddTimes(const EvaluationPage& input, HtmlPage& page);
void AddAttentionDistances(const EvaluationPage& input, HtmlPage& page);
void AddProvenance(const EvaluationPage& input, HtmlPage& page);
void AddSettings(const EvaluationPage& input, HtmlPage& page);

// Text and drawings shared by the pages of evaluations.

// Formats a share of 1: "76.41 %".
std::string PercentText(double share);
// Returns the difference of two shares in percentage points: "+1.20 points".
std::string PointsText(double difference);
// Formats a duration: "1.25 ms" or "3.1 s".
std::string DurationText(double seconds);
// Returns the model's label of a class, or the number of the class if it has no label.
std::string LabelOf(const v1::ModelVersion& model, int32_t label);
// Returns name and version of a model: "eit-mini-cifar10 version 3".
std::string NameOf(const v1::ModelVersion& model);
// Describes the interval of the share right / all: "95 % interval 78.09 to 79.69 %".
std::string IntervalInWords(int64_t right, int64_t all);
// Formats a score and its interval: "0.6345 (0.6150 to 0.6540)".
std::string MeanScoreText(const MeanScore& score);
// Draws histograms of the confidences of right and wrong answers.
std::string DrawConfidences(std::span<const Prediction> predictions, const std::string& title);
// Describes the calibration: "Expected calibration error 1.20 % ...; on average the confidence is 0.50 points above the
// accuracy."
std::string CalibrationInWords(const Calibration& calibration);
// Returns three lines about an answer: predicted class, right class, image.
std::vector<std::string> AnswerInWords(const v1::ModelVersion& model, const Prediction& prediction);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_PAGE_PAGE_SECTIONS_H_
