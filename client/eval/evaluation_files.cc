// SPDX-License-Identifier: Apache-2.0
// Writes summary.json, predictions.csv and predictions.jsonl of an evaluation.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/eval/evaluation.h"
#include "client/eval/metrics.h"
#include "client/eval/page/page_sections.h"
#include "client/eval/summary.h"
#include "common/charts/html/data_table.h"
#include "common/file/replace.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// JSON with floats in their shortest form.
using FloatJson = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, float>;
using Json = nlohmann::ordered_json;

// Returns the results per image, without values that depend on the time or the server.
std::string PredictionsCsv(const Evaluation& evaluation) {
  DataTable table({{"index", ""},
                   {"name", ""},
                   {"label", ""},
                   {"predicted", ""},
                   {"correct", ""},
                   {"in_top5", ""},
                   {"outcome", ""},
                   {"code", ""}});
  for (const Prediction& p : evaluation.predictions) {
    const bool answered = p.outcome == Outcome::kAnswered && !p.guesses.empty();
    const auto yes_no = [&](bool value) { return answered ? Cell::Count(value ? 1 : 0) : Cell::Nothing(); };
    table.Add({Cell::Count(p.index), Cell{p.name, ""},
               Cell{evaluation.data_labels[static_cast<size_t>(p.data_label)], ""},
               Cell{answered ? LabelOf(evaluation.model, p.guesses.front().index) : "", ""}, yes_no(p.correct()),
               yes_no(p.InTop(5)), Cell{OutcomeName(p.outcome), ""},
               Cell{p.code == absl::StatusCode::kOk ? "" : CodeName(p.code), ""}});
  }
  return table.Print(OutputFormat::kCsv);
}

std::string JsonLine(const Evaluation& evaluation, const Prediction& p) {
  Json line = {{"index", p.index},
               {"name", p.name},
               {"label", evaluation.data_labels[static_cast<size_t>(p.data_label)]},
               {"class", p.label < 0 ? Json() : Json(p.label)},
               {"outcome", OutcomeName(p.outcome)}};
  if (p.outcome != Outcome::kAnswered) {
    if (p.code != absl::StatusCode::kOk) line["code"] = CodeName(p.code);
    line["reason"] = p.reason;
    return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  line["correct"] = p.correct();
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace);
  FloatJson guesses = FloatJson::array();
  for (const Guess& guess : p.guesses) {
    guesses.push_back({{"index", guess.index},
                       {"label", LabelOf(evaluation.model, guess.index)},
                       {"probability", guess.probability}});
  }
  const Json rest = {{"tokens", p.tokens},
                     {"served_by", p.served_by},
                     {"attempts", p.attempts},
                     {"at", p.at},
                     {"seconds",
                      {{"queue", p.seconds.queue},
                       {"decode", p.seconds.decode},
                       {"compute", p.seconds.compute},
                       {"encode", p.seconds.encode},
                       {"server", p.seconds.server},
                       {"client", p.seconds.client}}}};
  text.pop_back();  // removes the closing brace; the text goes on with the other members
  return absl::StrCat(text, ",\"guesses\":", guesses.dump(-1, ' ', false, FloatJson::error_handler_t::replace), ",",
                      rest.dump(-1, ' ', false, Json::error_handler_t::replace).substr(1), "\n");
}

}  // namespace

absl::Status WriteEvaluation(const std::string& folder, const Evaluation& evaluation) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::string lines;
  for (const Prediction& p : evaluation.predictions) lines += JsonLine(evaluation, p);
  const Json summary = SummaryJson(evaluation, ComputeMetrics(evaluation));
  RETURN_IF_ERROR(ReplaceFile(absl::StrCat(folder, "/predictions.csv"), PredictionsCsv(evaluation)));
  RETURN_IF_ERROR(ReplaceFile(absl::StrCat(folder, "/predictions.jsonl"), lines));
  return ReplaceFile(absl::StrCat(folder, "/summary.json"),
                     summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace vitrine
