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

// A model's input, in CPU memory. Movable, but not copyable: the `pixels` of a copy would point to the values of the
// original object.
struct ImageInput {
  ImageInput() = default;
  ImageInput(ImageInput&&) = default;
  ImageInput& operator=(ImageInput&&) = default;

  engine::ImagePlanes pixels;          // normalized; a view of `values` or of the received bytes
  std::vector<float> values;           // empty if the message contains exactly the model's input
  std::shared_ptr<const Image> image;  // oriented image to draw overlays on; null without overlays
};

// Converts the image or tensor of a validated request to the model's input. `geometry` was planned from the image's
// header or the tensor's declared size; it is not used for a normalized tensor. INVALID_ARGUMENT: a damaged image,
// float pixels outside [0, 1], or normalized values that are not finite or too large. Float pixels are resized without
// rounding; only the image for overlays is rounded to 8 bits per channel. `bytes` (the image or the tensor's data) must
// outlive the result.
absl::StatusOr<ImageInput> MakeImageInput(const v1::ClassifyRequest& request, std::string_view bytes,
                                          const v1::Preprocessing& preprocessing, const Geometry& geometry);

// Makes the model's input for a request. `batch` is the number of the request's batch, for the log. Never throws: after
// an internal fault, logs the cause and returns INTERNAL. Decodes nothing for the null model, which reads no pixels and
// is used to measure the service without decoding and compute.
absl::StatusOr<ImageInput> ReadInput(const InferenceRequest& request, uint64_t batch);

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_EXECUTION_IMAGE_INPUT_H_
