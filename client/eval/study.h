// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_STUDY_H_
#define VITRINE_CLIENT_EVAL_STUDY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/eval/metrics.h"
#include "client/eval/run.h"
#include "client/picture_run.h"
#include "data/dataset.h"
#include "report/data_table.h"

namespace vitrine {

// Several models, each at several sizes, on one data set.
struct StudyPlan {
  EvalCommand command = {};                                         // of every cell but for model, resolution and out
  std::vector<ModelChoice> models = {};                             // at least one
  std::vector<std::optional<v1::ResolutionWish>> resolutions = {};  // at least one; nullopt: the model's policy
};

// One model at one size.
struct StudyCell {
  std::string model = {};
  int64_t version = 0;          // 0 where the model is not known
  std::string resolution = {};  // "224x224"; empty: the model's policy
  std::string folder = {};      // of its evaluation, inside the study's
  absl::Status status = {};     // why it has no numbers, or not those of every picture
  EvaluationMetrics metrics = {};
  std::map<int64_t, bool> right = {};  // of the answered pictures, by their index
  // Of a picture; means where the inputs' sizes differ. Nothing where the server does not tell them.
  std::optional<double> macs = {};
  std::optional<double> tokens = {};  // prefix tokens included

  bool measured() const { return metrics.ledger.answered > 0; }
  // Every picture that can be read was answered, so that its accuracy is that of the same pictures as other such
  // cells'.
  bool comparable() const {
    const EvaluationLedger& ledger = metrics.ledger;
    return status.ok() && measured() && ledger.answered + ledger.unreadable == ledger.pictures;
  }
};

struct Study {
  std::string data = {};
  std::string split = {};
  std::vector<StudyCell> cells = {};  // models in their order, each with all resolutions
  // Every cell answered every picture.
  bool complete() const;
};

// Runs one cell; RunEvaluation and what else belongs to it.
using CellRunner = std::function<absl::StatusOr<EvalResult>(const EvalCommand& command)>;

// Runs the cells one after the other, each into a folder of its own inside `plan.command.out`, so that the same plan
// continues where it was. A size that a model refuses, or a model that there is not, is a cell with a status and does
// not end the study; a server that is lost does, and the cells after it say so. `data` is the opened data set.
Study RunStudy(const StudyPlan& plan, Client& client, const Dataset& data, const CellRunner& run);

// Multiply-adds and tokens of a picture of `data`, as the server computes them: at the size that every picture is
// brought to, or the mean over up to 64 pictures where each keeps its own. INVALID_ARGUMENT: a size that the model
// refuses. UNIMPLEMENTED: a server that does not tell costs.
struct MeanCost {
  double macs = 0;
  double tokens = 0;
};
absl::StatusOr<MeanCost> CostOf(Client& client, const v1::ModelVersion& model,
                                const std::optional<v1::ResolutionWish>& resolution, const Dataset& data);

// "eit-32", "eit@2-160x224", "eit@canary-own"
std::string CellFolder(const ModelChoice& model, const std::optional<v1::ResolutionWish>& resolution);

// A row for every cell; `frontier` marks comparable cells than which no other one is at least as accurate with no more
// multiply-adds, and better in one of the two. What a cell differs in from the first is that of study_differences.h.
DataTable StudyTable(const Study& study);
// The study as one HTML file that needs nothing else.
std::string DrawStudy(const Study& study);
// Writes study.json, study.csv and study.html.
absl::Status WriteStudy(const std::string& folder, const Study& study);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_STUDY_H_
