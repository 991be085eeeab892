// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_OIP_TENSOR_VIEW_H_
#define VITRINE_SERVER_WIRE_OIP_TENSOR_VIEW_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "server/identity/caller.h"
#include "server/registry/version/loaded_model.h"
#include "server/serve/request/classify_service.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A tensor view presents a model in the form that Triton's image clients require: one FP32 input [n, C, H, W] in the
// model's input size and, by default, one output. The view's name is the model's name with a suffix. The suffix says
// how clients scale a pixel value v (0 to 255).
enum class PixelScale {
  kNone,       // NAME:tensor            v
  kInception,  // NAME:tensor-inception  v / 127.5 - 1
  kVgg,        // NAME:tensor-vgg        v - 123, 117 and 104 (RGB) or v - 128 (gray)
};

// The parts of a model name in the protocol: the model and, if the name has a suffix, the view.
struct ModelName {
  std::string model = {};
  std::optional<PixelScale> view = {};
};

// Splits a name at its colon; model names cannot contain a colon. NOT_FOUND: unknown view; the message lists the views.
absl::StatusOr<ModelName> ReadModelName(const std::string& name);

struct FoundModel {
  ModelHandle model = nullptr;
  std::optional<PixelScale> view = {};
};

// Returns the model version that serves requests for `name` and `version`, and the view in `name`. For errors, see
// ReadModelName and FindAddressed.
absl::StatusOr<FoundModel> FindNamed(const ClassifyService& service, const Caller& caller, const std::string& name,
                                     const std::string& version);

// Returns the name of a view of `model`; without `view`, the model's name.
std::string NameOf(const std::string& model, std::optional<PixelScale> view);

// Returns the input size in the metadata of a view. If the model has native resolution, the size is a square whose
// number of tokens is about the geometric mean of the model's minimum and maximum number of tokens.
absl::StatusOr<Size> ViewSize(const v1::Preprocessing& preprocessing);

// Converts the values of one image, [C, H, W] float32 in the view's scale, to the model's normalized input. C is the
// model's number of channels. INVALID_ARGUMENT: the values cannot be pixels in that scale; the message lists the views
// and has no subject ("has the value 300, ..."). Thread-safe.
absl::StatusOr<std::string> ToModelInput(PixelScale scale, const v1::Preprocessing& preprocessing,
                                         std::string_view values);

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_OIP_TENSOR_VIEW_H_
