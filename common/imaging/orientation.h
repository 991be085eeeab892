// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_ORIENTATION_H_
#define VITRINE_COMMON_IMAGING_ORIENTATION_H_

#include <string_view>

#include "common/imaging/image.h"

namespace vitrine {

// Returns the orientation, 1 to 8, from a file's metadata, as Pillow reads it: the tag in IFD0 of `exif`, or, if there
// is no such tag, tiff:Orientation in `xmp`. Returns 1 if the orientation is missing or invalid. `exif` is a TIFF
// structure, with or without "Exif\0\0" before it: the contents of a JPEG's APP1 segment, a PNG's eXIf chunk or a
// WebP's EXIF chunk. Reads at most the first 64 KiB of `exif` and of `xmp`. Allocates nothing.
int OrientationOf(std::string_view exif, std::string_view xmp);

// Returns true if the orientation exchanges width and height.
constexpr bool SwapsSides(int orientation) {
  return orientation >= 5;
}

// Applies the orientation to an image as stored. For orientation 1 the image is unchanged.
Image Orient(Image stored, int orientation);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_ORIENTATION_H_
