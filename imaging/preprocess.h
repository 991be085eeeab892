#ifndef VITRINE_IMAGING_PREPROCESS_H_
#define VITRINE_IMAGING_PREPROCESS_H_

#include <vector>

#include "imaging/geometry.h"
#include "imaging/image.h"

namespace vitrine {

// The model's input for one decoded picture: resized and cropped as `geometry` says, grey or RGB as the model has it,
// scaled to [0, 1] and normalised. Planar: [channels, geometry.input.height, geometry.input.width].
// Requires that `geometry` was planned for this picture's size.
std::vector<float> Preprocess(const Image& image, const v1::Preprocessing& preprocessing, const Geometry& geometry);

}  // namespace vitrine

#endif  // VITRINE_IMAGING_PREPROCESS_H_
