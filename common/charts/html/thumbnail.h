// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HTML_THUMBNAIL_H_
#define VITRINE_COMMON_CHARTS_HTML_THUMBNAIL_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "common/charts/html/html.h"
#include "common/imaging/image.h"

namespace vitrine {

// Maximum size of a thumbnail in bytes.
inline constexpr size_t kMostThumbnailBytes = 20 << 10;

// Returns the image reduced to at most `side` pixels (at least 1) on its longer side; a smaller image is unchanged.
Image Reduced(const Image& image, int side);

// Returns the image for a page as a data URI. An image of up to 96 pixels a side becomes a lossless PNG, shown
// enlarged. A larger image, or one whose PNG would exceed kMostThumbnailBytes, becomes a JPEG of at most `side` pixels
// (16 to 512) a side. If the JPEG exceeds kMostThumbnailBytes, its quality or its size in pixels is reduced.
// INVALID_ARGUMENT: an empty image.
absl::StatusOr<ImageCard::Tile> Thumbnail(const Image& image, int side, const std::string& caption);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HTML_THUMBNAIL_H_
