#include "client/eval/prepare.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/eval/data.h"
#include "client/eval/label_map.h"
#include "client/text.h"
#include "data/digest.h"

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
                      "; their pictures are not sent (see --label-map)");
}

EvaluationSettings SettingsOf(const EvalCommand& command, const Dataset& data) {
  EvaluationSettings settings;
  settings.split = command.split;
  settings.data_digest = DigestOf(data);
  settings.data_pictures = data.size();
  settings.limit = command.limit;
  settings.shard = command.shard;
  if (command.resolution.has_value()) {
    settings.resolution = absl::StrCat(command.resolution->height(), "x", command.resolution->width());
  }
  settings.top_k = command.top_k;
  return settings;
}

}  // namespace

absl::StatusOr<PreparedRun> PrepareRun(const EvalCommand& command, ProgressDisplay& display) {
  PreparedRun run;
  ASSIGN_OR_RETURN(run.data, OpenEvaluationData(command.data, command.split));
  std::vector<LabelRow> rows;
  if (!command.label_map.empty()) {
    ASSIGN_OR_RETURN(rows, ReadLabelMap(command.label_map));
  }
  ASSIGN_OR_RETURN(run.client, Client::Connect(command.client));
  ASSIGN_OR_RETURN(run.evaluation.model, ChooseModel(*run.client, command.model));
  const v1::ModelVersion& model = run.evaluation.model;
  if (model.state() != v1::READY) {
    return absl::FailedPreconditionError(
        absl::StrCat(model.model(), "@", model.version(), " is not ready; see vitrine models"));
  }
  const std::vector<std::string> labels(model.labels().begin(), model.labels().end());
  ASSIGN_OR_RETURN(LabelMatch match, MatchLabels(run.data->labels(), labels, rows));
  if (match.by_number) display.Line("vitrine: the data set's labels are numbers; they are taken as the model's");
  if (!match.unknown.empty()) display.Line(UnknownLabels(match));

  run.evaluation.data = command.data;
  run.evaluation.data_labels = run.data->labels();
  run.evaluation.settings = SettingsOf(command, *run.data);
  run.evaluation.settings.label_map = std::move(match.classes);
  run.evaluation.expected = CountChosen(run.evaluation.settings);
  return run;
}

}  // namespace vitrine
