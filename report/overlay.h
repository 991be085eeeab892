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

// The map in colour over the picture, as a PNG file. The map is min-max scaled for display; the part of the picture
// that the grid does not cover is left dimmed. The picture is reduced to at most `max_side` pixels a side and enlarged
// to at least 256. OpenCV's exceptions become INTERNAL here.
absl::StatusOr<std::string> DrawOverlay(const Image& picture, const SpatialMap& map, int max_side = 1024);

// A matrix (scores, weights) as a picture of its own, one cell per value, enlarged to at least 256 pixels a side.
absl::StatusOr<std::string> DrawMatrix(int rows, int columns, std::span<const float> values);

}  // namespace vitrine

#endif  // VITRINE_REPORT_OVERLAY_H_
