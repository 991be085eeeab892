// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_OVERLAY_H_
#define VITRINE_REPORT_OVERLAY_H_

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "imaging/geometry.h"
#include "imaging/image.h"
#include "report/colour_range.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// A spatial map to draw: values row-major, [rows, columns], covering `covers` of the picture.
struct SpatialMap {
  int rows = 0;
  int columns = 0;
  std::span<const float> values;
  v1::Rectangle covers;
  bool diverging = false;                 // values of both signs around 0
  int marked = -1;                        // cell to frame, row * columns + column (a query); -1: none
  std::optional<ColourRange> range = {};  // shared with other drawings; none: its own, as of attention to its cells
  std::string caption = {};               // what it is, written below; a line break where it has one or where it must
};

struct OverlayLook {
  int min_side = 256;   // pixels that the longer side has at least
  int max_side = 1024;  // and at most
  bool legend = true;   // the caption and a colour bar with its numbers below the map
};

// The map in colour over the picture, as a PNG file.
//
// Colour means attention and nothing else: the picture under the map is grey. Which value has which colour is said in
// colour_range.h and, with the numbers, by the legend. Values are interpolated between the centres of the cells. The
// part of the picture that the grid does not cover stays in its own colours, dimmed; a thin frame marks the border. The
// longer side is brought to between `min_side` and `max_side` pixels; the legend adds its lines below, and makes the
// file of a narrow picture 240 pixels wide.
//
// INVALID_ARGUMENT: an empty picture or map, a value that is not finite, a rectangle outside the picture, a marked cell
// outside the map. INTERNAL: OpenCV failed; its exceptions end here, but for want of memory, which is thrown as
// std::bad_alloc. Thread-safe.
absl::StatusOr<std::string> DrawOverlay(const Image& picture, const SpatialMap& map, const OverlayLook& look = {});

// The same before it becomes a file. Gives way every millisecond or so.
absl::StatusOr<Image> ComposeOverlay(const Image& picture, const SpatialMap& map, const OverlayLook& look = {});

// In two steps, of which the first is done once for all the maps that are drawn on a picture: of 16 megapixels it takes
// longer than what follows. It makes the RGB picture that overlays of this look show, which must not be empty.
absl::StatusOr<Image> ShownUnderMaps(const Image& picture, const OverlayLook& look = {});
// `picture` is the size of what `shown` was made from.
absl::StatusOr<Image> ComposeOnShown(const Image& shown, Size picture, const SpatialMap& map,
                                     const OverlayLook& look = {});

}  // namespace vitrine

#endif  // VITRINE_REPORT_OVERLAY_H_
