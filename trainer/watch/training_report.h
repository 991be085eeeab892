// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_TRAINING_REPORT_H_
#define VITRINE_TRAINER_WATCH_TRAINING_REPORT_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "reference/model.h"
#include "trainer/task.h"
#include "trainer/watch/history.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct TrainingReportInput {
  v1::Recipe recipe = {};
  Score score = {};                // of what is published, on the test split where there is one; may be empty
  v1::Provenance provenance = {};  // fields that are empty are left out
  std::string samples_in_words = "pictures";
  History history = {};  // both as ReadHistory and ReadSteps give them; either may be empty
  std::vector<StepRow> steps = {};
  // What was trained, as it is published. Null for models of sequences, or without a test split: the page then ends
  // with the curves.
  const Model* model = nullptr;
  const Dataset* test = nullptr;
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // becomes true when the work shall end, with CANCELLED
};

// The run as one HTML file that needs nothing else: key figures, curves, provenance, and of a model of pictures
// confusion, calibration, worst mistakes, attention of examples, attention distances and codes, each where the model
// has it. At most 10,000 test pictures are asked about, 64 for distances. Errors as Examine.
absl::StatusOr<std::string> TrainingReport(const TrainingReportInput& input);

// The same in a file, which is replaced whole, and its charts as SVG files in `figures` beside it. Errors as
// AppendFile's.
absl::Status WriteTrainingReport(const TrainingReportInput& input, const std::filesystem::path& file);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_TRAINING_REPORT_H_
