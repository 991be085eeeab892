// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/results.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Returns a number of a JSON object, or 0 if it is not a number. JSON has null for a loss that is not finite.
double NumberAt(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

void Complete(const SweepGrid& grid, PointSummary& point) {
  point.missing = grid.seeds.size() - point.seeds.size();
  if (point.seeds.empty()) return;
  const double count = static_cast<double>(point.seeds.size());
  point.lowest = point.highest = point.seeds[0].score;
  for (const SeedScore& seed : point.seeds) {
    point.mean += seed.score / count;
    point.seconds += seed.seconds / count;
    point.lowest = std::min(point.lowest, seed.score);
    point.highest = std::max(point.highest, seed.score);
  }
  if (point.seeds.size() < 2) return;
  double squares = 0;
  for (const SeedScore& seed : point.seeds) squares += (seed.score - point.mean) * (seed.score - point.mean);
  point.deviation = std::sqrt(squares / (count - 1));
}

// Returns the 97.5 % point of Student's t, by expansion around the normal distribution (Abramowitz and Stegun 26.7.5).
// From two degrees of freedom on, the error is within 3 %.
double TwoSidedFivePercent(double freedom) {
  const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

// True if the means differ by more than chance: Welch's test at 5 %, with at least three runs each.
bool Differ(const PointSummary& a, const PointSummary& b) {
  constexpr size_t kFewest = 3;
  if (a.seeds.size() < kFewest || b.seeds.size() < kFewest) return false;
  const double n = static_cast<double>(a.seeds.size()), m = static_cast<double>(b.seeds.size());
  const double v = a.deviation * a.deviation / n, w = b.deviation * b.deviation / m;
  const double difference = std::abs(a.mean - b.mean);
  if (v + w == 0) return difference > 0;
  const double freedom = (v + w) * (v + w) / (v * v / (n - 1) + w * w / (m - 1));
  return difference > TwoSidedFivePercent(freedom) * std::sqrt(v + w);
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

absl::StatusOr<std::vector<PointSummary>> Summarise(const SweepGrid& grid,
                                                    const std::vector<std::optional<CellResult>>& results) {
  std::vector<PointSummary> points(grid.points.size());
  for (size_t i = 0; i < grid.cells.size(); ++i) {
    if (!results[i]) continue;
    PointSummary& point = points[grid.cells[i].point];
    ASSIGN_OR_RETURN(const double score, ScoreOf(*results[i], grid.metric));
    point.seeds.push_back({grid.cells[i].seed, score, results[i]->seconds});
    point.parameters = results[i]->parameters;
  }
  PointSummary* best = nullptr;
  for (PointSummary& point : points) {
    Complete(grid, point);
    if (point.missing > 0) continue;
    const double gain = best == nullptr ? 0 : grid.lower_is_better ? best->mean - point.mean : point.mean - best->mean;
    if (best == nullptr || gain > 0) best = &point;
  }
  if (best == nullptr) return points;
  best->best = std::ranges::all_of(
      points, [&](const PointSummary& point) { return &point == best || point.missing > 0 || Differ(*best, point); });
  return points;
}

}  // namespace vitrine
