// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_TENSOR_VIEW_H_
#define VITRINE_SERVER_WIRE_OIP_TENSOR_VIEW_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "imaging/geometry.h"
#include "server/identity/caller.h"
#include "server/models/registry/loaded_model.h"
#include "server/serve/request/classify_service.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A tensor view is a model as Triton's image clients expect one: a single FP32 input of [n, C, H, W], which is the
// model's own input, and a single output, the probabilities. Its name is that of the model with a suffix, which says
// how the client scales pixels of 0 to 255.
enum class PixelScale {
  kNone,       // NAME:tensor            0 to 255
  kInception,  // NAME:tensor-inception  v / 127.5 - 1
  kVgg,        // NAME:tensor-vgg        less 123, 117 and 104 (RGB), or 128 (grey)
};

// What a name addresses: a model, or a view of it.
struct ModelName {
  std::string model = {};
  std::optional<PixelScale> view = {};
};

// Names of models have no colon. NOT_FOUND for a view that there is not, with those that there are.
absl::StatusOr<ModelName> ReadModelName(const std::string& name);

struct FoundModel {
  ModelHandle model = nullptr;
  std::optional<PixelScale> view = {};
};

// The version that a name addresses: errors as ReadModelName's and FindAddressed's.
absl::StatusOr<FoundModel> FindNamed(const ClassifyService& service, const Caller& caller, const std::string& name,
                                     const std::string& version);

// Name of a view of `model`, or of the model itself.
std::string NameOf(const std::string& model, std::optional<PixelScale> view);

// The size that the metadata of a view name. Of a model of native resolution it is the square whose tokens are the
// geometric mean of the fewest and the most.
absl::StatusOr<Size> ViewSize(const v1::Preprocessing& preprocessing);

// Turns the values of one picture, [C, H, W] float32 scaled as the view says, into what the model computes with. C is
// the model's. INVALID_ARGUMENT if they cannot be pixels that were scaled so, with the other views; its sentence begins
// with a verb. Thread-safe.
absl::StatusOr<std::string> ToModelInput(PixelScale scale, const v1::Preprocessing& preprocessing,
                                         std::string_view values);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_TENSOR_VIEW_H_
