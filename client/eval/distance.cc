// SPDX-License-Identifier: Apache-2.0
#include "client/eval/distance.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/commands/attention_choice.h"
#include "client/lib/numbers.h"
#include "common/charts/distance_plot.h"
#include "common/statistics/head_diversity.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

struct GridCell {
  int rows = 0, columns = 0;
  double height = 0, width = 0;  // pixels of one cell
  auto operator<=>(const GridCell&) const = default;
};

GridCell CellOf(const v1::Grid& grid) {
  GridCell cell{.rows = grid.rows(), .columns = grid.columns()};
  cell.height = static_cast<double>(grid.input_height()) / std::max(1, cell.rows);
  cell.width = static_cast<double>(grid.input_width()) / std::max(1, cell.columns);
  return cell;
}

// Adds up the distances of images, and computes the means.
class Sums {
 public:
  explicit Sums(AttentionDistances& distances) : distances_(distances) {}

  absl::Status Add(const v1::ClassifyResponse& answer) {
    if (answer.attention_size() != 1) return absl::InternalError("the server sent no distances");
    const v1::AttentionMap& map = answer.attention(0);
    ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(map));
    if (map.rows() < 1 || map.columns() < 1) return absl::InternalError("the server sent no distances");
    if (distances_.images == 0) {
      distances_.layers = map.rows();
      distances_.heads = map.columns();
      for (auto* sums : {&distances_.pixels, &distances_.patches, &squares_}) sums->assign(values.size(), 0);
      distances_.excluded.assign(values.size(), 0);
    }
    if (map.rows() != distances_.layers || map.columns() != distances_.heads) {
      return absl::InternalError("the number of layers or heads changed between images");
    }
    const GridCell cell = CellOf(answer.grid());
    const double side = std::sqrt(cell.height * cell.width);
    for (size_t i = 0; i < values.size(); ++i) {
      const double value = values[i];
      if (std::isnan(value)) {
        ++distances_.excluded[i];
        continue;
      }
      distances_.pixels[i] += value;
      distances_.patches[i] += side > 0 ? value / side : 0;
      squares_[i] += value * value;
    }
    cells_.insert(cell);
    ++distances_.images;
    return absl::OkStatus();
  }

  void Finish() {
    for (size_t i = 0; i < squares_.size(); ++i) {
      const double images = static_cast<double>(distances_.images - distances_.excluded[i]);
      distances_.pixels[i] /= images;
      distances_.patches[i] /= images;
      const double variance = squares_[i] / images - distances_.pixels[i] * distances_.pixels[i];
      distances_.deviation.push_back(std::sqrt(variance < 0 ? 0 : variance));
    }
    if (cells_.size() != 1 || cells_.begin()->rows < 1) return;
    const GridCell& cell = *cells_.begin();
    distances_.uniform = UniformDistance(cell.rows, cell.columns, cell.height, cell.width);
    distances_.window = (2 * cell.height + 2 * cell.width + 4 * std::hypot(cell.height, cell.width)) / 9;
  }

 private:
  AttentionDistances& distances_;
  std::vector<double> squares_;
  std::set<GridCell> cells_;
};

// Converts a [layers, heads] matrix to a JSON array of rows. NaN becomes null.
template <typename T>
nlohmann::ordered_json Rows(const std::vector<T>& values, int heads) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % static_cast<size_t>(heads) == 0) rows.push_back(nlohmann::ordered_json::array());
    rows.back().push_back(values[i]);
  }
  return rows;
}

}  // namespace

absl::StatusOr<AttentionDistances> MeasureDistances(const ImageSource& source, const std::vector<int64_t>& indices,
                                                    int64_t most) {
  const auto& kinds = source.model->attention_kinds();
  if (std::ranges::find(kinds, static_cast<int>(v1::DISTANCE)) == kinds.end()) {
    return absl::InvalidArgumentError(absl::StrCat("model \"", source.model->model(),
                                                   "\" has no attention distances; leave out --attention-distance"));
  }
  AttentionDistances distances;
  distances.model = source.model->model();
  distances.version = source.model->version();
  distances.magnitudes = HasSignedAttention(source.model->config());
  const std::vector<int64_t> chosen = EvenlySpread(indices, most);
  v1::ClassifyRequest common = AttentionRequestFor(source, v1::DISTANCE);
  common.mutable_attention(0)->set_encoding(v1::FLOAT32);
  size_t next = 0;
  const RequestSource requests = [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
    if (next == chosen.size() || source.Stopping()) return std::nullopt;
    absl::StatusOr<std::string> encoded = source.data->encoded(chosen[next++]);
    if (!encoded.ok()) return encoded.status();
    v1::ClassifyRequest request = common;
    request.set_image(*std::move(encoded));
    return request;
  };
  Sums sums(distances);
  const ResultSink sink = [&](size_t i, absl::StatusOr<v1::ClassifyResponse> answer) {
    source.Tell("attention distances", static_cast<int64_t>(i) + 1, static_cast<int64_t>(chosen.size()));
    const absl::Status status = answer.ok() ? sums.Add(*answer) : answer.status();
    if (status.ok()) return;
    ++distances.failed;
    if (distances.fault.empty()) distances.fault = std::string(status.message());
  };
  RETURN_IF_ERROR(source.client->ClassifyMany(requests, sink));
  if (next < chosen.size()) {
    return absl::CancelledError(absl::StrCat("the run was stopped after ", next, " of ", chosen.size(), " images"));
  }
  if (distances.images == 0) {
    return absl::UnavailableError(absl::StrCat("no image has an attention distance",
                                               distances.fault.empty() ? "" : absl::StrCat(": ", distances.fault)));
  }
  sums.Finish();
  return distances;
}

std::string DistancesAsJson(const AttentionDistances& distances) {
  nlohmann::ordered_json json;
  json["model"] = distances.model;
  json["version"] = distances.version;
  json["pictures"] = distances.images;
  json["failed"] = distances.failed;
  json["layers"] = distances.layers;
  json["heads"] = distances.heads;
  json["weighted_by"] = distances.magnitudes ? "magnitude" : "attention";
  json["pixels"] = Rows(distances.pixels, distances.heads);
  json["pixels_standard_deviation"] = Rows(distances.deviation, distances.heads);
  json["patches"] = Rows(distances.patches, distances.heads);
  json["excluded"] = Rows(distances.excluded, distances.heads);
  const HeadDiversity heads = DiversityOf(distances.pixels, distances.heads);
  json["head_mean_pixels"] = heads.means;
  json["head_deviation_pixels"] = heads.deviations;
  json["diversity_pixels"] = heads.diversity ? nlohmann::ordered_json(*heads.diversity) : nullptr;
  json["uniform_pixels"] = distances.uniform ? nlohmann::ordered_json(*distances.uniform) : nullptr;
  json["window_pixels"] = distances.window ? nlohmann::ordered_json(*distances.window) : nullptr;
  return json.dump(1) + "\n";
}

absl::StatusOr<std::string> DrawDistances(const AttentionDistances& distances) {
  const std::vector<float> values(distances.pixels.begin(), distances.pixels.end());
  DistanceFigure figure;
  figure.layers.resize(static_cast<size_t>(distances.layers));
  figure.heads.resize(static_cast<size_t>(distances.heads));
  std::iota(figure.layers.begin(), figure.layers.end(), 0);
  std::iota(figure.heads.begin(), figure.heads.end(), 0);
  figure.distances = values;
  figure.title = absl::StrCat("Attention distance by layer, a dot per head",
                              distances.magnitudes ? ", weighted by magnitude" : "");
  figure.note = absl::StrCat("mean over ", distances.images, " images; bars: means over heads");
  if (distances.uniform) figure.references.push_back({*distances.uniform, "equal over the grid"});
  if (distances.window) figure.references.push_back({*distances.window, "equal over 3x3 cells"});
  ASSIGN_OR_RETURN(const std::string svg, DrawDistancePlot(figure));
  return absl::StrCat("<img class=\"chart\" alt=\"", EscapeHtml(figure.title), "\" src=\"",
                      DataUri("image/svg+xml", svg), "\">");
}

}  // namespace vitrine
