// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_ORIENTATION_H_
#define VITRINE_IMAGING_ORIENTATION_H_

#include <string_view>

#include "imaging/image.h"

namespace vitrine {

// Returns the orientation, 1 to 8, that the metadata of a file state, as Pillow reads it: the tag of IFD0 in `exif`,
// and where that has none, tiff:Orientation in `xmp`. 1 where neither is there or it is nonsense. `exif` is a TIFF
// structure, with or without "Exif\0\0" before it: what a JPEG's APP1 segment, a PNG's eXIf or a WebP's EXIF chunk
// holds. Looks at the first 64 KiB of each; allocates nothing.
int OrientationOf(std::string_view exif, std::string_view xmp);

// True where the orientation exchanges width and height.
constexpr bool SwapsSides(int orientation) {
  return orientation >= 5;
}

// The picture as a person sees it, from the picture as stored. Orientation 1 returns it as it is.
Image Orient(Image stored, int orientation);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_ORIENTATION_H_
