// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPORT_THUMBNAIL_H_
#define VITRINE_REPORT_THUMBNAIL_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "imaging/image.h"
#include "report/html.h"

namespace vitrine {

// Most bytes of a thumbnail's file.
inline constexpr size_t kMostThumbnailBytes = 20 << 10;

// The picture with its longer side at most `side` pixels (at least 1); one that is no larger is kept as it is.
Image Reduced(const Image& picture, int side);

// The picture for a page, its longer side at most `side` pixels (16 to 512), as a file inside its URI. Pictures that
// are tiny keep every pixel and are shown so; others become JPEGs, of lower quality where they would be too large.
// INVALID_ARGUMENT: an empty picture.
absl::StatusOr<PictureCard::Picture> Thumbnail(const Image& picture, int side, const std::string& caption);

}  // namespace vitrine

#endif  // VITRINE_REPORT_THUMBNAIL_H_
