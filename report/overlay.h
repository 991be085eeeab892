// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_OVERLAY_H_
#define VITRINE_REPORT_OVERLAY_H_

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "imaging/image.h"
#include "vitrine/v1/attention.pb.h"

namespace vitrine {

// A spatial map to draw: values row-major, [rows, columns], covering `covers` of the picture.
struct SpatialMap {
  int rows = 0;
  int columns = 0;
  std::span<const float> values;
  v1::Rectangle covers;
  bool diverging = false;  // values of both signs around 0
  int marked = -1;         // cell to frame, row * columns + column (a query); -1: none
};

struct OverlayLook {
  int min_side = 256;   // pixels that the longer side has at least
  int max_side = 1024;  // and at most
  bool legend = true;   // a colour bar below a diverging map
};

// The map in colour over the picture, as a PNG file.
//
// Colour means attention and nothing else: the picture under the map is grey. A sequential map runs from dark (its
// smallest value) to bright yellow (its largest); a diverging one from blue over white at 0 to red, scaled by its
// largest magnitude, which a colour bar below the picture tells. A map whose values are all equal is drawn at the
// middle. Values are interpolated between the centres of the cells. The part of the picture that the grid does not
// cover stays in its own colours, dimmed; a thin frame marks the border. The longer side is brought to between
// `min_side` and `max_side` pixels; the colour bar adds 40 pixels below, and where the picture is narrow makes the
// file up to 200 pixels wide.
//
// INVALID_ARGUMENT: an empty picture or map, a value that is not finite, a rectangle outside the picture, a marked cell
// outside the map. INTERNAL: OpenCV failed; its exceptions end here. Thread-safe.
absl::StatusOr<std::string> DrawOverlay(const Image& picture, const SpatialMap& map, const OverlayLook& look = {});

// The same before it becomes a file.
absl::StatusOr<Image> ComposeOverlay(const Image& picture, const SpatialMap& map, const OverlayLook& look = {});

}  // namespace vitrine

#endif  // VITRINE_REPORT_OVERLAY_H_
