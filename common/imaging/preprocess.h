// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_IMAGING_PREPROCESS_H_
#define VITRINE_COMMON_IMAGING_PREPROCESS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "common/imaging/resize.h"
#include "common/imaging/row_resizer.h"

namespace vitrine {

// Returns the model's input for one decoded image: resized and cropped by `geometry`, converted to grey or RGB as the
// model requires, scaled to [0, 1] and normalised. The result is planar: [channels, geometry.input.height,
// geometry.input.width]. RGB is converted to grey as ITU-R BT.601 luma, without rounding. Grey is converted to RGB by
// repeating the grey value. Requires that `geometry` was planned for this image; the image may have been reduced while
// it was decoded (common/imaging/decode_planned.h). Thread-safe.
std::vector<float> Preprocess(const Image& image, const v1::Preprocessing& preprocessing, const Geometry& geometry);

// Like the function above, for float pixels in [0, 255].
std::vector<float> Preprocess(const FloatImage& image, const v1::Preprocessing& preprocessing,
                              const Geometry& geometry);

// Computes the result of Preprocess one row at a time, for an image of `size` whose rows arrive from top to bottom.
// Keeps references to the arguments.
class InputRows {
 public:
  InputRows(Size size, const v1::Preprocessing& preprocessing, const Geometry& geometry);

  // Returns the resizer. Its functions first_of and end_of give the image rows on which an input row depends.
  const RowResizer& resizer() const { return resizer_; }
  // Computes row y of the input. Reads the image from `rows`, as RowResizer::Resize does, or from the whole `source`.
  // The values of a float image are not rounded.
  void Make(int y, const uint8_t* const* rows, int channels);
  void Make(int y, const Image& source);
  void Make(int y, const FloatImage& source);

  // Returns the input. Call it after all rows were computed.
  std::vector<float> Take() { return std::move(values_); }

 private:
  // Normalises row y, which is in `resized_`.
  void Normalise(int y, int channels);

  const v1::Preprocessing& preprocessing_;
  const Geometry& geometry_;
  RowResizer resizer_;
  std::vector<float> resized_;  // one resized row, channel by channel
  std::vector<float> values_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_IMAGING_PREPROCESS_H_
