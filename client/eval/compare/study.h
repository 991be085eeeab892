// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_COMPARE_STUDY_H_
#define VITRINE_CLIENT_EVAL_COMPARE_STUDY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/commands/image_run.h"
#include "client/eval/metrics.h"
#include "client/eval/run/run.h"
#include "client/lib/client.h"
#include "common/charts/html/data_table.h"
#include "common/data/dataset.h"

namespace vitrine {

// Evaluation of several models, at several sizes each, on one data set.
struct StudyPlan {
  EvalCommand command = {};              // settings of every cell, except model, resolution and out
  std::vector<ModelChoice> models = {};  // at least one
  std::vector<std::optional<v1::ResolutionWish>> resolutions = {};  // at least one; nullopt: the model's policy
};

// One model at one size.
struct StudyCell {
  std::string model = {};
  int64_t version = 0;          // 0 if the model is not known
  std::string resolution = {};  // "224x224"; empty: the model's policy
  std::string folder = {};      // folder of the cell's evaluation, inside the study's folder
  absl::Status status = {};     // reason for missing or incomplete numbers, else OK
  EvaluationMetrics metrics = {};
  std::map<int64_t, bool> right = {};  // index of each answered image -> true if the answer is right
  // Mean multiply-adds and tokens per image; nullopt if the server does not report them.
  std::optional<double> macs = {};
  std::optional<double> tokens = {};  // including prefix tokens

  bool measured() const { return metrics.ledger.answered > 0; }
  // True if every readable image was answered. If this is true for two cells, their accuracies cover the same images.
  bool comparable() const {
    const EvaluationLedger& ledger = metrics.ledger;
    return status.ok() && measured() && ledger.answered + ledger.unreadable == ledger.images;
  }
};

struct Study {
  std::string data = {};
  std::string split = {};
  std::vector<StudyCell> cells = {};  // by model, then by resolution
  // Returns true if every cell answered every image.
  bool complete() const;
};

// Function that runs one cell: it calls RunEvaluation and writes the report.
using CellRunner = std::function<absl::StatusOr<EvalResult>(const EvalCommand& command)>;

// Runs the cells one after the other. Each cell has its own folder inside `plan.command.out`, so that a later call with
// the same plan can continue the cell. If a model is missing or rejects a size, the cell gets an error and the study
// continues. If the server is lost or the user stops the study, the remaining cells get the same error as the
// interrupted cell. `data` is the opened data set.
Study RunStudy(const StudyPlan& plan, Client& client, const Dataset& data, const CellRunner& run);

struct MeanCost {
  double macs = 0;
  double tokens = 0;
};
// Returns the cost of an image of `data`, as reported by the server. If the input size depends on the image, the cost
// is the mean over up to 64 images. INVALID_ARGUMENT: the model rejects the size. UNIMPLEMENTED: the server does not
// report costs.
absl::StatusOr<MeanCost> CostOf(Client& client, const v1::ModelVersion& model,
                                const std::optional<v1::ResolutionWish>& resolution, const Dataset& data);

// Returns the name of a cell's folder, such as "eit-32", "eit@2-160x224" or "eit@canary-own".
std::string CellFolder(const ModelChoice& model, const std::optional<v1::ResolutionWish>& resolution);

// Returns a row per cell. `frontier` marks the comparable cells on the Pareto frontier of accuracy and multiply-adds.
// The columns with the differences from the first measured cell come from DifferencesOf.
DataTable StudyTable(const Study& study);
// Returns the study as one self-contained HTML file.
std::string DrawStudy(const Study& study);
// Writes study.json, study.csv, study.html and its charts, figures/*.svg.
absl::Status WriteStudy(const std::string& folder, const Study& study);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_STUDY_H_
