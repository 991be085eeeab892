// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/plan_request.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "imaging/header.h"
#include "models/model_description.h"
#include "server/serve/execution/attention_encoding.h"
#include "server/serve/request/plan_attention.h"

namespace vitrine {
namespace {

constexpr int kDefaultTopK = 5;

std::string ModelText(const LoadedModel& model) {
  return absl::StrCat("model \"", model.id.model, "\" (version ", model.id.version, ")");
}

std::string SizeText(Size size) {
  return absl::StrCat(size.height, " x ", size.width);
}

absl::Status CheckEnvelope(const v1::ClassifyRequest& request) {
  if (request.request_id().size() > kMaxRequestIdBytes) {
    return absl::InvalidArgumentError(absl::StrCat("request_id is ", request.request_id().size(),
                                                   " bytes long; at most ", kMaxRequestIdBytes, " are allowed"));
  }
  if (!v1::Priority_IsValid(request.priority())) {
    return absl::InvalidArgumentError(absl::StrCat("priority is ", static_cast<int>(request.priority()),
                                                   "; it must be LOW (1), NORMAL (2) or HIGH (3)"));
  }
  if (request.has_max_attention_bytes() &&
      (request.max_attention_bytes() < 1 || request.max_attention_bytes() > kMaxAttentionBytes)) {
    return absl::InvalidArgumentError(absl::StrCat("max_attention_bytes is ", request.max_attention_bytes(),
                                                   "; it must be 1 to ", kMaxAttentionBytes));
  }
  if (request.has_time_limit() && !(request.time_limit() > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("time_limit is ", request.time_limit(), "; it must be above 0 seconds, or left out for none"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> PlanTopK(const v1::ClassifyRequest& request, const LoadedModel& model) {
  const int classes = model.manifest.config().classes();
  if (request.omit_predictions()) {
    if (!request.has_top_k()) return 0;
    return absl::InvalidArgumentError(
        absl::StrCat("top_k is ", request.top_k(), ", but omit_predictions is set; leave one of them out"));
  }
  if (!request.has_top_k()) return std::min(kDefaultTopK, classes);
  if (request.top_k() < 1 || request.top_k() > classes) {
    return absl::InvalidArgumentError(absl::StrCat("top_k is ", request.top_k(), ", but ", ModelText(model), " has ",
                                                   classes, " classes; ask for 1 to ", classes));
  }
  return request.top_k();
}

absl::Status CheckTensorForm(const v1::RawTensor& tensor, const ImageLimits& limits, int64_t left_out) {
  if (tensor.data_type() != v1::RawTensor::DATA_UINT8 && tensor.data_type() != v1::RawTensor::DATA_FLOAT32) {
    return absl::InvalidArgumentError("tensor.data_type must be DATA_UINT8 or DATA_FLOAT32");
  }
  if (!v1::RawTensor::Layout_IsValid(tensor.layout())) {
    return absl::InvalidArgumentError("tensor.layout must be HWC or CHW");
  }
  if (tensor.normalized() && tensor.data_type() != v1::RawTensor::DATA_FLOAT32) {
    return absl::InvalidArgumentError("a normalized tensor must be DATA_FLOAT32");
  }
  if (tensor.height() < 1 || tensor.height() > limits.max_side || tensor.width() < 1 ||
      tensor.width() > limits.max_side) {
    return absl::InvalidArgumentError(absl::StrCat("the tensor is ", tensor.height(), " x ", tensor.width(),
                                                   " pixels; each side must be 1 to ", limits.max_side));
  }
  if (tensor.channels() != 1 && tensor.channels() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensor has ", tensor.channels(), " channels; it must have 1 (grey) or 3 (RGB)"));
  }
  const int64_t value_bytes = tensor.data_type() == v1::RawTensor::DATA_UINT8 ? 1 : 4;
  const int64_t expected = int64_t{tensor.height()} * tensor.width() * tensor.channels() * value_bytes;
  const int64_t sent = static_cast<int64_t>(tensor.data().size()) + left_out;
  if (sent != expected) {
    return absl::InvalidArgumentError(absl::StrCat("the tensor's data has ", sent, " bytes, but ", tensor.height(),
                                                   " x ", tensor.width(), " x ", tensor.channels(), " values of ",
                                                   value_bytes, " bytes need ", expected));
  }
  return absl::OkStatus();
}

absl::StatusOr<Size> PlanTensor(const v1::RawTensor& tensor, const v1::Preprocessing& preprocessing,
                                const ImageLimits& limits, int64_t left_out) {
  RETURN_IF_ERROR(CheckTensorForm(tensor, limits, left_out));
  const Size size{tensor.height(), tensor.width()};
  if (!tensor.normalized()) return size;
  if (tensor.channels() != preprocessing.channels()) {
    return absl::InvalidArgumentError(absl::StrCat("the normalized tensor has ", tensor.channels(),
                                                   " channels, but the model takes ", preprocessing.channels()));
  }
  // Where the model crops, a picture of this size would be scaled first; a tensor is what comes out of that.
  ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, size));
  if (geometry.input != size) {
    return absl::InvalidArgumentError(absl::StrCat("the normalized tensor is ", SizeText(size),
                                                   ", which the model does not take as it is; the nearest size is ",
                                                   SizeText(geometry.input)));
  }
  return size;
}

// Size of the oriented picture or tensor.
absl::StatusOr<Size> InputSize(const v1::ClassifyRequest& request, const v1::Preprocessing& preprocessing,
                               const ImageLimits& limits, int64_t left_out) {
  switch (request.input_case()) {
    case v1::ClassifyRequest::kImage: {
      ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(request.image(), limits));
      return Size{header.height, header.width};
    }
    case v1::ClassifyRequest::kTensor:
      return PlanTensor(request.tensor(), preprocessing, limits, left_out);
    default:
      return absl::InvalidArgumentError("the request has no input; set image (a JPEG, PNG or WebP file) or tensor");
  }
}

absl::StatusOr<std::optional<Size>> PlanWish(const v1::ClassifyRequest& request, const LoadedModel& model) {
  if (!request.has_resolution()) return std::nullopt;
  if (request.tensor().normalized()) {
    return absl::InvalidArgumentError("resolution cannot be asked for a normalized tensor, which is taken as it is");
  }
  const v1::Preprocessing& preprocessing = model.manifest.config().preprocessing();
  if (preprocessing.has_fixed()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "resolution was asked for, but ", ModelText(model), " takes only ", preprocessing.fixed().height(), " x ",
        preprocessing.fixed().width(), " pixels; leave resolution out and every picture is brought to that size"));
  }
  return Size{request.resolution().height(), request.resolution().width()};
}

}  // namespace

absl::StatusOr<InferenceRequest> PlanRequest(v1::ClassifyRequest request, ModelHandle model, const ImageLimits& limits,
                                             int64_t left_out) {
  InferenceRequest plan;
  plan.model = std::move(model);
  plan.request = std::move(request);
  const LoadedModel& served = *plan.model;
  const v1::Preprocessing& preprocessing = served.manifest.config().preprocessing();
  RETURN_IF_ERROR(CheckEnvelope(plan.request));
  ASSIGN_OR_RETURN(plan.top_k, PlanTopK(plan.request, served));
  ASSIGN_OR_RETURN(const Size original, InputSize(plan.request, preprocessing, limits, left_out));
  ASSIGN_OR_RETURN(const std::optional<Size> wish, PlanWish(plan.request, served));
  if (plan.request.tensor().normalized()) {
    plan.geometry = {.original = original, .scaled = original, .top = 0, .left = 0, .input = original};
  } else {
    ASSIGN_OR_RETURN(plan.geometry, PlanGeometry(preprocessing, original, wish));
  }
  ASSIGN_OR_RETURN(plan.grid, served.description->GridFor(plan.geometry.input.height, plan.geometry.input.width));
  plan.tokens = plan.grid.cells() + served.description->prefix_tokens();
  RETURN_IF_ERROR(PlanAttentionAndFeatures(plan));
  return plan;
}

}  // namespace vitrine
