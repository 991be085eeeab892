// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_SHEET_H_
#define VITRINE_REPORT_SHEET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "imaging/image.h"
#include "report/colour_range.h"

namespace vitrine {

// Many maps of one picture side by side.
struct SheetFigure {
  std::string title = {};
  std::string note = {};                  // below the title, smaller
  const Image* picture = nullptr;         // shown small beside the title; may be null
  std::vector<std::string> rows = {};     // captions, "layer 0"
  std::vector<std::string> columns = {};  // captions, "head 0"
  std::vector<Image> tiles = {};          // RGB, row-major, rows * columns; an empty one leaves its place free
  std::optional<ColourRange> range = {};  // that all tiles share, told by a colour bar; none: they are pictures
};

// The longest side of a tile on a sheet of so many rows and columns: the sheet stays about 2000 pixels wide and 2400
// high as long as tiles stay legible.
int SheetTileSide(int rows, int columns);

// The sheet as a PNG file: tiles in equal places, captions on top and at the left, the colour bar beside the title.
// INVALID_ARGUMENT: no tile, a number of tiles that does not fit the captions, a tile that is not RGB.
// INTERNAL: OpenCV failed. Thread-safe.
absl::StatusOr<std::string> DrawSheet(const SheetFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_REPORT_SHEET_H_
