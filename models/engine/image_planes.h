// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_IMAGE_PLANES_H_
#define VITRINE_MODELS_ENGINE_IMAGE_PLANES_H_

namespace vitrine::engine {

// A view of a preprocessed image: [channels, height, width] fp32, contiguous.
struct ImagePlanes {
  const float* data = nullptr;
  int channels = 0;
  int height = 0;
  int width = 0;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_IMAGE_PLANES_H_
