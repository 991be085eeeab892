// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_JPEG_H_
#define VITRINE_IMAGING_JPEG_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/header.h"
#include "imaging/image.h"

namespace vitrine {

// The pixels of a JPEG as stored, before its orientation: 1 channel for grey, 3 for everything else.
// `header` is what ReadHeader said about the same bytes under the same limits. Decoded at 1/divisor of the size, with
// divisor 1, 2, 4 or 8, sides rounded up. INVALID_ARGUMENT for any damage.
absl::StatusOr<Image> DecodeJpeg(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits,
                                 int divisor = 1);

// Takes the rows of a JPEG as libjpeg makes them, from the top down.
class JpegRows {
 public:
  virtual ~JpegRows() = default;
  // Before the first row: each will have the `width` pixels from column `left` on, of 1 or 3 channels.
  virtual void Begin(int left, int width, int channels) = 0;
  // Where row y is to be written.
  virtual uint8_t* RoomFor(int y) = 0;
  // Row y has been written.
  virtual void Take(int y) = 0;
};

// The same pixels row by row; nothing of the size of the picture is allocated, but for a JPEG of several scans. Of what
// lies outside `part` (of the reduced picture) only what is as cheap to make as to leave out is given, but all of the
// file is read: damage anywhere is INVALID_ARGUMENT, in the same words, though rows may have been given by then.
absl::Status DecodeJpegRows(std::string_view bytes, const ImageHeader& header, const ImageLimits& limits, int divisor,
                            const PicturePart& part, JpegRows& rows);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_JPEG_H_
