// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_PREPROCESS_H_
#define VITRINE_IMAGING_PREPROCESS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "imaging/geometry.h"
#include "imaging/image.h"
#include "imaging/resize.h"
#include "imaging/row_resizer.h"

namespace vitrine {

// The model's input for one decoded picture: resized and cropped as `geometry` says, grey or RGB as the model has it,
// scaled to [0, 1] and normalised. Planar: [channels, geometry.input.height, geometry.input.width].
// Grey from colour is ITU-R BT.601 luma, not rounded; colour from grey repeats it.
// Requires that `geometry` was planned for this picture, which may be reduced (imaging/decode_planned.h). Thread-safe.
std::vector<float> Preprocess(const Image& image, const v1::Preprocessing& preprocessing, const Geometry& geometry);

// The same for pixels given as floats in [0, 255].
std::vector<float> Preprocess(const FloatImage& image, const v1::Preprocessing& preprocessing,
                              const Geometry& geometry);

// The same one row at a time, for a picture of size `picture` whose pixels come from the top down. Keeps references.
class InputRows {
 public:
  InputRows(Size picture, const v1::Preprocessing& preprocessing, const Geometry& geometry);

  // What each row depends on.
  const RowResizer& resizer() const { return resizer_; }
  // Makes row y from rows of the picture as RowResizer::Resize takes them, or from all of it; one of floats is not
  // rounded.
  void Make(int y, const uint8_t* const* rows, int channels);
  void Make(int y, const Image& picture);
  void Make(int y, const FloatImage& picture);

  // The input, once every row is made.
  std::vector<float> Take() { return std::move(values_); }

 private:
  // Row y from `resized_`.
  void Normalise(int y, int channels);

  const v1::Preprocessing& preprocessing_;
  const Geometry& geometry_;
  RowResizer resizer_;
  std::vector<float> resized_;  // one row, channel by channel
  std::vector<float> values_;
};

}  // namespace vitrine

#endif  // VITRINE_IMAGING_PREPROCESS_H_
