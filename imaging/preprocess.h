// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_IMAGING_PREPROCESS_H_
#define VITRINE_IMAGING_PREPROCESS_H_

#include <vector>

#include "imaging/geometry.h"
#include "imaging/image.h"
#include "imaging/resize.h"

namespace vitrine {

// The model's input for one decoded picture: resized and cropped as `geometry` says, grey or RGB as the model has it,
// scaled to [0, 1] and normalised. Planar: [channels, geometry.input.height, geometry.input.width].
// Grey from colour is ITU-R BT.601 luma, not rounded; colour from grey repeats it.
// Requires that `geometry` was planned for this picture, which may be reduced (imaging/decode_planned.h). Thread-safe.
std::vector<float> Preprocess(const Image& image, const v1::Preprocessing& preprocessing, const Geometry& geometry);

// The same for pixels given as floats in [0, 255].
std::vector<float> Preprocess(const FloatImage& image, const v1::Preprocessing& preprocessing,
                              const Geometry& geometry);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_PREPROCESS_H_
