// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_CODECS_JPEG_H_
#define VITRINE_COMMON_IMAGING_CODECS_JPEG_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/header.h"
#include "common/imaging/image.h"

namespace vitrine {

// Returns the pixels of a JPEG as stored, before its orientation is applied: 1 channel for grey, 3 for all other
// images. Decodes at 1/divisor of the size, for divisor 1, 2, 4 or 8, with sides rounded up. `header` is the result of
// ReadHeader for these bytes and limits. INVALID_ARGUMENT for any damage.
absl::StatusOr<Image> DecodeJpeg(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits,
                                 int divisor = 1);

// Receives the rows of a JPEG from top to bottom, as libjpeg decodes them.
class JpegRows {
 public:
  virtual ~JpegRows() = default;
  // Prepares for the rows; called before the first row. Each row has `width` pixels of 1 or 3 channels and begins at
  // column `left`.
  virtual void Begin(int left, int width, int channels) = 0;
  // Returns the buffer for row y.
  virtual uint8_t* RoomFor(int y) = 0;
  // Processes row y; called after the row was written to its buffer.
  virtual void Take(int y) = 0;
};

// Like DecodeJpeg, but passes the pixels to `rows` row by row. Allocates no buffer of the image's size, except for a
// JPEG with several scans. `part` is in pixels of the reduced image. Pixels outside `part` are passed, too, if libjpeg
// cannot skip them. The whole file is read: damage anywhere is INVALID_ARGUMENT with the message of DecodeJpeg,
// possibly after rows were passed.
absl::Status DecodeJpegRows(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits, int divisor,
                            const ImagePart& part, JpegRows& rows);

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_CODECS_JPEG_H_
