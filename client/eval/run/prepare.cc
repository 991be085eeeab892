// SPDX-License-Identifier: Apache-2.0
#include "client/eval/run/prepare.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/commands/image_run.h"
#include "client/commands/output/text.h"
#include "client/eval/data.h"
#include "client/eval/run/ready_model.h"
#include "common/data/digest.h"
#include "common/data/file_names.h"
#include "common/data/label_map.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string UnknownLabels(const LabelMatch& match) {
  constexpr size_t kMost = 10;
  std::vector<std::string> shown(match.unknown.begin(),
                                 match.unknown.begin() + static_cast<ptrdiff_t>(std::min(match.unknown.size(), kMost)));
  for (std::string& label : shown) label = Printable(label);
  return absl::StrCat("vitrine: the model has no class for ", match.unknown.size(), " of the data set's ",
                      match.classes.size(), " labels: ", absl::StrJoin(shown, ", "),
                      match.unknown.size() > shown.size() ? ", ..." : "",
                      "; their images are not sent (see --label-map)");
}

EvaluationSettings SettingsOf(const EvalCommand& command, const Dataset& data) {
  EvaluationSettings settings;
  settings.split = command.split;
  settings.data_digest = DigestOf(data);
  settings.data_order = OrderedDigestOf(data);
  settings.data_images = data.size();
  settings.limit = command.limit;
  settings.shard = command.shard;
  if (command.resolution.has_value()) {
    settings.resolution = absl::StrCat(command.resolution->height(), "x", command.resolution->width());
  }
  settings.top_k = command.top_k;
  return settings;
}

}  // namespace

absl::StatusOr<PreparedRun> PrepareRun(const EvalCommand& command, ProgressDisplay& display,
                                       const std::atomic<bool>* stop) {
  PreparedRun run;
  ASSIGN_OR_RETURN(run.data, OpenEvaluationData(command.data, command.split));
  for (const std::string& remark : run.data->remarks()) display.Line(absl::StrCat("vitrine: ", Printable(remark)));
  std::vector<LabelRow> rows;
  if (!command.label_map.empty()) {
    ASSIGN_OR_RETURN(rows, ReadLabelMap(command.label_map));
  }
  for (LabelRow& row : rows) {
    // The data set's labels are escaped (see OpenEvaluationData), so the labels of the label map must also be escaped.
    // A label that contains "\x" is already escaped.
    if (row.data.find("\\x") == std::string::npos) row.data = EscapedBytes(row.data);
  }
  ASSIGN_OR_RETURN(std::tie(run.client, run.evaluation.model),
                   AwaitModel(command.client, command.model, command.patience, display, stop));
  const v1::ModelVersion& model = run.evaluation.model;
  if (IsLookedUp(model) && model.labels().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(model.model()),
                     " has no classes to evaluate; make a head for it with `vitrine-repo head`, or write its "
                     "vectors with `vitrine embed`"));
  }
  const std::vector<std::string> labels(model.labels().begin(), model.labels().end());
  ASSIGN_OR_RETURN(LabelMatch match, MatchLabels(run.data->labels(), labels, rows));
  if (run.data->undivided()) {
    display.Line(absl::StrCat("vitrine: ", Printable(command.data), " names no splits; all its ", run.data->size(),
                              " images are the ", command.split, " split"));
  }
  for (const std::string& line : MatchInWords(match, *run.data)) display.Line(absl::StrCat("vitrine: ", line));
  if (!match.unknown.empty()) display.Line(UnknownLabels(match));

  run.evaluation.data = command.data;
  run.evaluation.data_labels = run.data->labels();
  run.evaluation.settings = SettingsOf(command, *run.data);
  run.evaluation.settings.label_map = std::move(match.classes);
  run.evaluation.expected = CountChosen(run.evaluation.settings);
  return run;
}

}  // namespace vitrine
