// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_REPORT_TRAINING_REPORT_H_
#define VITRINE_TRAINER_WATCH_REPORT_TRAINING_REPORT_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "models/reference/model.h"
#include "trainer/task.h"
#include "trainer/watch/history.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct TrainingReportInput {
  v1::Recipe recipe = {};
  std::string name = {};           // name of the model; empty: the recipe's name
  Score score = {};                // score of the published model, on the test split if there is one; may be empty
  v1::Provenance provenance = {};  // empty fields are left out
  std::string samples_in_words = "images";
  History history = {};  // from ReadHistory and ReadSteps; either may be empty
  Steps steps = {};
  // Trained model as published. Null for models of sequences, or if there is no test split. The page then has only key
  // figures, curves and provenance.
  const Model* model = nullptr;
  const Dataset* test = nullptr;
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // if set to true, the call stops with CANCELLED
};

// Returns the run as a self-contained HTML file: key figures, curves and provenance. For image models, the file also
// has confusion, calibration, worst mistakes, attention of examples and attention distances. If the embedding is of
// kind F-SNE, it also has the embedding's codes. Uses at most 10,000 test images, and at most 64 for distances.
// Returns the errors of Examine.
absl::StatusOr<std::string> TrainingReport(const TrainingReportInput& input);

// Atomically writes the report to `file`, and writes its charts as SVG files to the folder `figures` beside `file`.
// Returns the errors of TrainingReport and WritePage.
absl::Status WriteTrainingReport(const TrainingReportInput& input, const std::filesystem::path& file);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_REPORT_TRAINING_REPORT_H_
