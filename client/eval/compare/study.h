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

// Evaluation of several models, each at several sizes, on one data set.
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
  std::string folder = {};      // folder of its evaluation, inside the study's
  absl::Status status = {};     // why its numbers are missing or incomplete
  EvaluationMetrics metrics = {};
  std::map<int64_t, bool> right = {};  // per answered image, by its index
  // Mean per image; nullopt if the server does not report it.
  std::optional<double> macs = {};
  std::optional<double> tokens = {};  // prefix tokens included

  bool measured() const { return metrics.ledger.answered > 0; }
  // Returns true if every readable image was answered, so that its accuracy covers the same images as other such
  // cells.
  bool comparable() const {
    const EvaluationLedger& ledger = metrics.ledger;
    return status.ok() && measured() && ledger.answered + ledger.unreadable == ledger.images;
  }
};

struct Study {
  std::string data = {};
  std::string split = {};
  std::vector<StudyCell> cells = {};  // by model, each with all resolutions
  // Returns true if every cell answered every image.
  bool complete() const;
};

// Runs one cell: RunEvaluation and its report.
using CellRunner = std::function<absl::StatusOr<EvalResult>(const EvalCommand& command)>;

// Runs the cells one after the other, each in its own folder inside `plan.command.out`, so that the same plan can be
// continued. A size rejected by a model, or a missing model, gives a cell with a status and does not end the study; a
// lost server does, as the remaining cells then say. `data` is the opened data set.
Study RunStudy(const StudyPlan& plan, Client& client, const Dataset& data, const CellRunner& run);

// Cost of an image of `data`, as the server computes it: at the fixed input size, or the mean over up to 64 images
// if each keeps its size. INVALID_ARGUMENT: a size that the model rejects. UNIMPLEMENTED: the server does not report
// costs.
struct MeanCost {
  double macs = 0;
  double tokens = 0;
};
absl::StatusOr<MeanCost> CostOf(Client& client, const v1::ModelVersion& model,
                                const std::optional<v1::ResolutionWish>& resolution, const Dataset& data);

// "eit-32", "eit@2-160x224", "eit@canary-own"
std::string CellFolder(const ModelChoice& model, const std::optional<v1::ResolutionWish>& resolution);

// Returns a row per cell; `frontier` marks comparable cells for which no other is at least as accurate with at most as
// many multiply-adds, and better in one of the two. Differences from the first cell are those of study_differences.h.
DataTable StudyTable(const Study& study);
// Returns the study as one self-contained HTML file.
std::string DrawStudy(const Study& study);
// Writes study.json, study.csv and study.html.
absl::Status WriteStudy(const std::string& folder, const Study& study);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_STUDY_H_
