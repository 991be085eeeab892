// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HTML_THUMBNAIL_H_
#define VITRINE_COMMON_CHARTS_HTML_THUMBNAIL_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "common/charts/html/html.h"
#include "common/imaging/image.h"

namespace vitrine {

// Maximum size of a thumbnail's file in bytes.
inline constexpr size_t kMostThumbnailBytes = 20 << 10;

// Returns the image with its longer side at most `side` pixels (at least 1); a smaller one is unchanged.
Image Reduced(const Image& image, int side);

// Returns the image for a page, its longer side at most `side` pixels (16 to 512), as a data URI. Tiny images are
// lossless and shown enlarged; others become JPEGs, with reduced quality if they would be too large. INVALID_ARGUMENT:
// an empty image.
absl::StatusOr<ImageCard::Tile> Thumbnail(const Image& image, int side, const std::string& caption);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HTML_THUMBNAIL_H_
