// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/results.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vitrine {
namespace {

// Returns the number `name` of a JSON object, or 0 if the value is not a number. For example, a loss that is not finite
// is null in result.json.
double NumberAt(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

// Returns the value of the member `name` of a JSON object, or "" if there is no such member or its value is not a
// string.
std::string TextAt(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<std::optional<CellResult>> ReadResult(const std::filesystem::path& work) {
  const std::filesystem::path file = work / "result.json";
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::optional<CellResult>();
  std::ostringstream text;
  text << in.rdbuf();
  const nlohmann::json json = nlohmann::json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("scores") || !json["scores"].is_object()) {
    return absl::FailedPreconditionError(
        absl::StrCat(file.string(), " is not the result of a run; remove it to repeat the run"));
  }
  if (const auto finished = json.find("finished"); finished != json.end() && *finished == false) {
    return std::optional<CellResult>();
  }
  CellResult result;
  for (const auto& [name, value] : json["scores"].items()) {
    if (value.is_number()) result.scores[name] = value.get<double>();
  }
  result.program = TextAt(json, "program");
  result.epochs = NumberAt(json, "epochs");
  result.seconds = NumberAt(json, "seconds");
  result.parameters = static_cast<int64_t>(NumberAt(json, "parameters"));
  return std::optional<CellResult>(std::move(result));
}

absl::StatusOr<double> ScoreOf(const CellResult& result, const std::string& metric) {
  const auto found = result.scores.find(metric);
  if (found != result.scores.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, score] : result.scores) names.push_back(name);
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no score \"", metric, "\"; the runs have ", names.empty() ? "none" : absl::StrJoin(names, ", "),
      ". Correct the grid's metric and start again: ", "finished runs are kept"));
}

}  // namespace vitrine
