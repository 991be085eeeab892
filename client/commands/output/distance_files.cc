// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/distance_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/lib/numbers.h"
#include "common/drawing/attention_words.h"
#include "common/file/write.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Returns the requested layers or heads. An empty request means all: 0 to count - 1.
std::vector<int> NumbersOr(const google::protobuf::RepeatedField<int32_t>& asked, int count) {
  if (asked.size() == count) return {asked.begin(), asked.end()};
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Returns the attention distance of a query that attends uniformly to its own cell and the 8 cells around it.
double WindowDistance(double cell_height, double cell_width) {
  return (2 * cell_height + 2 * cell_width + 4 * std::hypot(cell_height, cell_width)) / 9;
}

DistanceFigure FigureOf(const v1::AttentionMap& map, const v1::AttentionRequest& asked, const v1::Grid* grid,
                        bool magnitudes) {
  DistanceFigure figure;
  figure.layers = NumbersOr(asked.layers(), map.rows());
  figure.heads = NumbersOr(asked.heads(), map.columns());
  figure.title =
      absl::StrCat(AttentionTitle(v1::DISTANCE), magnitudes ? ", weighted by magnitudes of signed attention" : "",
                   asked.keep_class_mass() ? ", the class token's mass counted as 0" : "");
  if (grid != nullptr && grid->rows() > 0 && grid->columns() > 0) {
    const double height = static_cast<double>(grid->input_height()) / grid->rows();
    const double width = static_cast<double>(grid->input_width()) / grid->columns();
    figure.references = {{UniformDistance(grid->rows(), grid->columns(), height, width), "equal over the grid"},
                         {WindowDistance(height, width), "equal over 3x3 cells"}};
  }
  return figure;
}

}  // namespace

absl::StatusOr<std::string> DrawDistance(const v1::AttentionMap& map, const v1::AttentionRequest& asked,
                                         const v1::ClassifyResponse& answer, const std::string& note, bool magnitudes) {
  ASSIGN_OR_RETURN(const std::vector<float> distances, AttentionValues(map));
  DistanceFigure figure = FigureOf(map, asked, &answer.grid(), magnitudes);
  figure.distances = distances;
  figure.note = note;
  return DrawDistancePlot(figure);
}

absl::Status MeanDistance::Add(const v1::ClassifyRequest& asked, const v1::ClassifyResponse& answer) {
  for (const v1::AttentionMap& map : answer.attention()) {
    if (map.kind() != v1::DISTANCE) continue;
    ASSIGN_OR_RETURN(const std::vector<float> distances, AttentionValues(map));
    if (images_ == 0) {
      first_ = map;
      for (const v1::AttentionRequest& request : asked.attention()) {
        if (request.kind() == v1::DISTANCE) asked_ = request;
      }
      *answer_.mutable_served_by() = answer.served_by();
      *answer_.mutable_grid() = answer.grid();
      sums_.assign(distances.size(), 0);
      counts_.assign(distances.size(), 0);
    }
    if (map.rows() != first_.rows() || map.columns() != first_.columns()) {
      return absl::InvalidArgumentError(absl::StrCat("attention distances of ", map.rows(), " layers and ",
                                                     map.columns(), " heads cannot be averaged with those of ",
                                                     first_.rows(), " layers and ", first_.columns(), " heads"));
    }
    const v1::Grid& grid = answer.grid();
    const v1::Grid& first = answer_.grid();
    same_grid_ = same_grid_ && grid.rows() == first.rows() && grid.columns() == first.columns() &&
                 grid.input_height() == first.input_height() && grid.input_width() == first.input_width();
    for (size_t i = 0; i < distances.size(); ++i) {
      if (std::isnan(distances[i])) continue;
      sums_[i] += distances[i];
      ++counts_[i];
    }
    ++images_;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> MeanDistance::Write(const std::string& folder) const {
  if (images_ < 2) return "";
  std::vector<float> means;
  for (size_t i = 0; i < sums_.size(); ++i) means.push_back(static_cast<float>(sums_[i] / counts_[i]));
  DistanceFigure figure = FigureOf(first_, asked_, same_grid_ ? &answer_.grid() : nullptr, magnitudes_);
  figure.distances = means;
  figure.note = absl::StrCat("mean over ", images_, " images", same_grid_ ? "" : " of several grids", ", ",
                             answer_.served_by().model(), " version ", answer_.served_by().version());
  ASSIGN_OR_RETURN(const std::string plot, DrawDistancePlot(figure));
  std::string path = (std::filesystem::path(folder) / "distance.svg").string();
  RETURN_IF_ERROR(WriteFile(path, plot));
  return path;
}

}  // namespace vitrine
