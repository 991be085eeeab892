// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cpu/frame.h"

#include <algorithm>

namespace vitrine::engine {

void Frame::Take(std::span<const ImagePlanes> images, int cell, int prefix, int first_image) {
  images_ = images;
  prefix_ = prefix;
  first_image_ = first_image;
  grids_.clear();
  cells_.assign(1, 0);
  most_tokens_ = 1;
  for (const ImagePlanes& image : images) {
    const Grid grid = cell == 0 ? Grid() : Grid{image.height / cell, image.width / cell};
    grids_.push_back(grid);
    cells_.push_back(cells_.back() + grid.cells());
    most_tokens_ = std::max(most_tokens_, prefix + grid.cells());
  }
}

int64_t Frame::rows(RowsOf rows) const {
  if (rows == RowsOf::kImages) return images();
  if (rows == RowsOf::kHeads) return kHeadTokens * images();
  return cells_.back() + (rows == RowsOf::kTokens ? int64_t{prefix_} * images() : 0);
}

Segment Frame::SegmentOf(RowsOf rows, int image) const {
  if (rows == RowsOf::kImages) return {image, 1};
  if (rows == RowsOf::kHeads) return {kHeadTokens * image, kHeadTokens};
  const size_t i = static_cast<size_t>(image);
  const int64_t cells = cells_[i + 1] - cells_[i];
  return rows == RowsOf::kCells ? Segment{cells_[i], cells}
                                : Segment{cells_[i] + int64_t{prefix_} * image, prefix_ + cells};
}

int64_t Frame::pixels() const {
  int64_t pixels = 0;
  for (const ImagePlanes& image : images_) pixels += int64_t{image.channels} * image.height * image.width;
  return pixels;
}

View<float> Frame::At(Operand operand) const {
  const Place& place = buffers_[static_cast<size_t>(operand.buffer)];
  return {place.data + operand.first, rows(place.rows), operand.columns, place.width};
}

View<float> Frame::Of(Operand operand, int image) const {
  const View<float> all = At(operand);
  const Segment segment = SegmentOf(RowsOfBuffer(operand), image);
  return {all.Row(segment.first), segment.count, all.columns, all.stride};
}

View<float> Frame::CellsOf(Operand operand, int image) const {
  const View<float> rows = Of(operand, image);
  if (RowsOfBuffer(operand) != RowsOf::kTokens) return rows;
  return {rows.Row(prefix_), rows.rows - prefix_, rows.columns, rows.stride};
}

View<float> Frame::PrefixOf(Operand operand, int image) const {
  View<float> rows = Of(operand, image);
  rows.rows = RowsOfBuffer(operand) == RowsOf::kTokens ? prefix_ : 0;
  return rows;
}

}  // namespace vitrine::engine
