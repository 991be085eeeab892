// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_DISTANCE_PLOT_H_
#define VITRINE_COMMON_CHARTS_DISTANCE_PLOT_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vitrine {

// Attention distance of each head in each layer.
struct DistanceFigure {
  std::vector<int> layers = {};      // labels of the rows
  std::vector<int> heads = {};       // labels of the columns
  std::span<const float> distances;  // row-major, [layers, heads], in pixels of the input
  std::string title = {};
  std::string note = {};  // drawn below the title in smaller letters
  struct Reference {
    double distance = 0;
    std::string name;
  };
  std::vector<Reference> references = {};  // dashed lines
};

// Returns the figure as an SVG file. x is the layer; y is the distance in pixels, from 0. Each head is a dot, whose
// tooltip names layer, head and distance. Each layer's mean over heads is a short bar. The file also has axes, ticks,
// grid lines and the references. NaN means that a head has no distance: it has no dot, and the note gives the number of
// these heads. INVALID_ARGUMENT: no layer or head, a number of distances other than layers * heads, a negative or
// infinite distance.
absl::StatusOr<std::string> DrawDistancePlot(const DistanceFigure& figure);

// Returns the mean distance between all pairs of cells of a grid, including the pairs of a cell with itself. A head
// with uniform attention has this attention distance. Each cell is `cell_height` x `cell_width` pixels.
double UniformDistance(int rows, int columns, double cell_height, double cell_width);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_DISTANCE_PLOT_H_
