// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_ORIENTATION_H_
#define VITRINE_IMAGING_ORIENTATION_H_

#include <string_view>

#include "imaging/image.h"

namespace vitrine {

// The orientation, 1 to 8, that an EXIF block states: the TIFF structure after "Exif\0\0" in a JPEG's APP1 segment, or
// the content of a PNG's eXIf or a WebP's EXIF chunk. 1 where it says nothing or nonsense. Looks at the first 64 KiB
// and only at the tags of IFD0; allocates nothing.
int ExifOrientation(std::string_view tiff);

// True where the orientation exchanges width and height.
constexpr bool SwapsSides(int orientation) {
  return orientation >= 5;
}

// The picture as a person sees it, from the picture as stored. Orientation 1 returns it as it is.
Image Orient(Image stored, int orientation);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_ORIENTATION_H_
