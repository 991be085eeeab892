// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_REPORT_REPORT_SECTIONS_H_
#define VITRINE_TRAINER_WATCH_REPORT_REPORT_SECTIONS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/charts/html/html.h"
#include "common/imaging/geometry.h"
#include "trainer/watch/report/examine.h"
#include "trainer/watch/report/training_report.h"

namespace vitrine {

// Sections of TrainingReport, in order. AddDistances and all functions with a parameter `examination` require
// input.test and input.model.

void AddKeyFigures(const TrainingReportInput& input, HtmlPage& page);
void AddCurves(const TrainingReportInput& input, HtmlPage& page);
void AddConfusion(const TrainingReportInput& input, const Examination& examination, HtmlPage& page);
void AddCalibration(const Examination& examination, HtmlPage& page);
absl::Status AddMistakes(const TrainingReportInput& input, const Examination& examination, std::optional<Size> size,
                         HtmlPage& page);
absl::Status AddExamples(const TrainingReportInput& input, const Examination& examination, std::optional<Size> size,
                         HtmlPage& page);
absl::Status AddDistances(const TrainingReportInput& input, std::optional<Size> size, HtmlPage& page);
// Adds norms and cosines of the codes of q, k and v (F-SNE), for models with codes.
void AddCodes(const Model& model, HtmlPage& page);
void AddProvenance(const TrainingReportInput& input, HtmlPage& page);

// Returns for example "76.41 %".
std::string Percent(double share);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_REPORT_REPORT_SECTIONS_H_
