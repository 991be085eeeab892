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

// A spatial map to draw. Values are row-major, [rows, columns]; `covers` is the part of the image that the map covers.
struct SpatialMap {
  int rows = 0;
  int columns = 0;
  std::span<const float> values;
  v1::Rectangle covers;
  bool diverging = false;                 // true: signed values around 0
  int marked = -1;                        // cell with a frame (a query), row * columns + column; -1: none
  std::optional<ColourRange> range = {};  // for drawings that share a range; none: AttentionRange of the values
  std::string caption = {};               // text below the map, wrapped at line breaks and where needed
};

struct OverlayLook {
  int min_side = 256;   // minimum of the longer side, in pixels
  int max_side = 1024;  // maximum of the longer side, in pixels
  bool legend = true;   // true: caption and colour bar with numbers are below the map
};

// Draws the map in colour over the image, as a PNG file.
//
// The image under the map is grey, so only attention is coloured. Colours follow colour_range.h, and the legend shows
// the range. Values are interpolated between the centres of the cells. The part of the image outside the grid keeps its
// colours, dimmed; a thin frame marks the border of the grid. The longer side is scaled to between `min_side` and
// `max_side` pixels. The legend is below the image, and widens a narrow drawing to 240 pixels.
//
// INVALID_ARGUMENT: an empty image or map, a non-finite value, a rectangle outside the image, a marked cell outside the
// map. Thread-safe.
absl::StatusOr<std::string> DrawOverlay(const Image& image, const SpatialMap& map, const OverlayLook& look = {});

// Like DrawOverlay, but returns an image.
absl::StatusOr<Image> ComposeOverlay(const Image& image, const SpatialMap& map, const OverlayLook& look = {});

// First step of ComposeOverlay, needed only once for several maps on one image. Returns the scaled RGB image under the
// maps. INVALID_ARGUMENT: an empty image, or a max_side below 1.
absl::StatusOr<Image> ShownUnderMaps(const Image& image, const OverlayLook& look = {});
// Second step of ComposeOverlay. Draws the map over `shown`, the result of ShownUnderMaps. `image` is the original
// image's size.
absl::StatusOr<Image> ComposeOnShown(const Image& shown, Size image, const SpatialMap& map,
                                     const OverlayLook& look = {});

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_OVERLAY_H_
