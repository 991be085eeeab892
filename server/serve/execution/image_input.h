// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_EXECUTION_IMAGE_INPUT_H_
#define VITRINE_SERVER_SERVE_EXECUTION_IMAGE_INPUT_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "common/imaging/image.h"
#include "models/engine/image_planes.h"
#include "models/float_array.h"
#include "server/serve/scheduling/inference_request.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A model's input, on the CPU. Movable; a copy would view the original's values.
struct ImageInput {
  ImageInput() = default;
  ImageInput(ImageInput&&) = default;
  ImageInput& operator=(ImageInput&&) = default;

  engine::ImagePlanes pixels;          // normalised; a view of `values`, or of the bytes as received
  std::vector<float> values;           // empty if the message has exactly the model's input
  std::shared_ptr<const Image> image;  // oriented; null for a normalised tensor
};

// Turns the image or tensor of a validated request into the model's input. `geometry` was planned from its header or
// declared size and is unused for a normalised tensor. INVALID_ARGUMENT for damage inside the image, for float pixels
// outside [0, 1] and for numbers that are not finite. Float pixels are resized without rounding; only the image that
// overlays are drawn on has 8 bits. `bytes`, of the image or the tensor's data, must outlive the result.
absl::StatusOr<ImageInput> MakeImageInput(const v1::ClassifyRequest& request, std::string_view bytes,
                                          const v1::Preprocessing& preprocessing, const Geometry& geometry);

// Makes the input of a request of a batch for its model. Never throws: an internal fault is INTERNAL, and the log has
// its cause. Decodes nothing for the null model, which reads no pixel, so that it measures the service alone.
absl::StatusOr<ImageInput> ReadInput(const InferenceRequest& request, uint64_t batch);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_IMAGE_INPUT_H_
