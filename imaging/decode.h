#ifndef VITRINE_IMAGING_DECODE_H_
#define VITRINE_IMAGING_DECODE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/image.h"

namespace vitrine {

// Decodes a JPEG or PNG and applies its EXIF orientation. Colour becomes RGB, grey stays grey; alpha is composited over
// white; 16 bits are reduced to 8; CMYK is converted (see docs/imaging.md).
// INVALID_ARGUMENT for everything ReadHeader refuses and for damage found while decoding: a truncated or corrupt
// picture never yields pixels. Thread-safe; keeps nothing between calls.
absl::StatusOr<Image> Decode(std::string_view bytes, const ImageLimits& limits = {});

}  // namespace vitrine

#endif  // VITRINE_IMAGING_DECODE_H_
