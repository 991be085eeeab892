// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_SHEET_H_
#define VITRINE_COMMON_DRAWING_SHEET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/drawing/colour_range.h"
#include "common/imaging/image.h"

namespace vitrine {

// Images on a grid, for example all attention maps of one image.
struct SheetFigure {
  std::string title = {};
  std::string note = {};                  // drawn below the title in smaller letters
  const Image* image = nullptr;           // drawn small beside the title; may be null
  std::vector<std::string> rows = {};     // captions such as "layer 0"
  std::vector<std::string> columns = {};  // captions such as "head 0"
  std::vector<Image> tiles = {};          // RGB, row-major, [rows, columns]; an empty image leaves its place empty
  std::optional<ColourRange> range = {};  // range of all tiles, shown by a colour bar; none: the tiles are images
};

// Returns the longer side of a tile, 96 to 224 pixels, for a sheet with these numbers of rows and columns. All tiles
// together have at most 2000 x 2400 pixels, unless tiles of 96 pixels need more.
int SheetTileSide(int rows, int columns);

// Returns the sheet as a PNG file: tiles on a grid, captions above and left of them, the colour bar beside the title.
// INVALID_ARGUMENT: no tile, a number of tiles other than rows * columns, a tile that is not RGB. Thread-safe.
absl::StatusOr<std::string> DrawSheet(const SheetFigure& figure);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_SHEET_H_
