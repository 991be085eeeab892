// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_OVERLAY_H_
#define VITRINE_COMMON_DRAWING_OVERLAY_H_

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "common/drawing/colour_range.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// A spatial map to draw: values row-major, [rows, columns], covering `covers` of the image.
struct SpatialMap {
  int rows = 0;
  int columns = 0;
  std::span<const float> values;
  v1::Rectangle covers;
  bool diverging = false;                 // signed values around 0
  int marked = -1;                        // cell to frame, row * columns + column (a query); -1: none
  std::optional<ColourRange> range = {};  // shared with other drawings; none: AttentionRange of its own values
  std::string caption = {};               // description, written below, wrapped at line breaks and where needed
};

struct OverlayLook {
  int min_side = 256;   // minimum of the longer side, in pixels
  int max_side = 1024;  // maximum of the longer side, in pixels
  bool legend = true;   // caption and colour bar with its numbers below the map
};

// Draws the map in colour over the image, as a PNG file.
//
// Only attention is coloured: the image under the map is grey. The mapping of values to colours is that of
// colour_range.h, shown by the legend. Values are interpolated between the centres of the cells. The part of the image
// that the grid does not cover keeps its colours, dimmed; a thin frame marks the border. The longer side is scaled to
// between `min_side` and `max_side` pixels; the legend adds its lines below, and widens a narrow file to 240 pixels.
//
// INVALID_ARGUMENT: an empty image or map, a non-finite value, a rectangle outside the image, a marked cell outside the
// map. INTERNAL: OpenCV failed; its exceptions are caught.
// Thread-safe.
absl::StatusOr<std::string> DrawOverlay(const Image& image, const SpatialMap& map, const OverlayLook& look = {});

// The same as an image. Calls GiveWay about every millisecond.
absl::StatusOr<Image> ComposeOverlay(const Image& image, const SpatialMap& map, const OverlayLook& look = {});

// The same in two steps; the first is done once for all maps on an image, because at 16 megapixels it takes longer than
// the second. Returns the RGB image under the maps. `image` must not be empty.
absl::StatusOr<Image> ShownUnderMaps(const Image& image, const OverlayLook& look = {});
// `image` is the size of the original of `shown`.
absl::StatusOr<Image> ComposeOnShown(const Image& shown, Size image, const SpatialMap& map,
                                     const OverlayLook& look = {});

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_OVERLAY_H_
