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
};

// The map in colour over the picture, as a PNG file.
//
// Colour means attention and nothing else: the picture under the map is grey, the map runs from dark (its smallest
// value) to bright yellow (its largest), and a map whose values are all equal is drawn at the middle. Values are
// interpolated between the centres of the cells. The part of the picture that the grid does not cover stays in its own
// colours, dimmed; a thin frame marks the border. The longer side is brought to between 256 and `max_side` pixels.
//
// INVALID_ARGUMENT: an empty picture or map, a value that is not finite, a rectangle outside the picture.
// INTERNAL: OpenCV failed; its exceptions end here. Thread-safe.
absl::StatusOr<std::string> DrawOverlay(const Image& picture, const SpatialMap& map, int max_side = 1024);

// A matrix (scores, weights) as a picture of its own: one square of equal colour per value, row 0 on top, each enlarged
// until the longer side has at least 256 pixels. Where values are negative the scale is symmetric around zero, blue to
// white to red; otherwise it runs from the smallest (dark) to the largest (bright yellow).
// INVALID_ARGUMENT: sides outside 1 to 8192, or a value that is not finite. INTERNAL and threads as above.
absl::StatusOr<std::string> DrawMatrix(int rows, int columns, std::span<const float> values);

}  // namespace vitrine

#endif  // VITRINE_REPORT_OVERLAY_H_
