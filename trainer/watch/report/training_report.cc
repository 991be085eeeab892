// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/report/training_report.h"

#include <optional>
#include <string>

#include "common/charts/html/figures.h"
#include "common/charts/html/html.h"
#include "common/status_macros.h"
#include "trainer/recipe/recipe.h"
#include "trainer/watch/report/examine.h"
#include "trainer/watch/report/report_sections.h"

namespace vitrine {
namespace {

absl::Status AddModel(const TrainingReportInput& input, HtmlPage& page) {
  std::optional<Size> size;
  if (!input.recipe.evaluation_sizes().empty()) {
    ASSIGN_OR_RETURN(size, ParseSize(input.recipe.evaluation_sizes(0)));
  }
  ASSIGN_OR_RETURN(const Examination examination,
                   Examine(*input.model, *input.test, {.size = size, .threads = input.threads, .stop = input.stop}));
  AddConfusion(input, examination, page);
  AddCalibration(examination, page);
  RETURN_IF_ERROR(AddMistakes(input, examination, size, page));
  RETURN_IF_ERROR(AddExamples(input, examination, size, page));
  RETURN_IF_ERROR(AddDistances(input, size, page));
  AddCodes(*input.model, page);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> TrainingReport(const TrainingReportInput& input) {
  HtmlPage page("Training of " + (input.name.empty() ? input.recipe.name() : input.name), input.recipe.description());
  AddKeyFigures(input, page);
  AddCurves(input, page);
  if (input.model != nullptr && input.test != nullptr) RETURN_IF_ERROR(AddModel(input, page));
  AddProvenance(input, page);
  return page.Print();
}

absl::Status WriteTrainingReport(const TrainingReportInput& input, const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(const std::string page, TrainingReport(input));
  return WritePage(file, page);
}

}  // namespace vitrine
