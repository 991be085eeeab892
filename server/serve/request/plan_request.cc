// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/plan_request.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/drawing/overlay.h"
#include "common/imaging/header.h"
#include "common/imaging/image.h"
#include "common/status_macros.h"
#include "models/attention_request.h"
#include "models/features.h"
#include "models/model_description.h"
#include "server/serve/execution/attention_encoding.h"

namespace vitrine {
namespace {

constexpr int kDefaultTopK = 5;
constexpr int kMaxTensorSide = ImageLimits().max_side;
constexpr int kMaxAttentionRequests = 16;
constexpr int kMaxFeatureRequests = v1::FeatureKind_ARRAYSIZE - 1;  // one for each kind
// Maximum overlays of a request. An executor needs about 0.2 s to draw and compress an overlay of the largest size.
constexpr int64_t kMaxOverlays = 8;

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
  if (classes == 0) {
    if (!request.has_top_k() && request.features_size() + request.attention_size() > 0) return 0;
    return absl::FailedPreconditionError(absl::StrCat(
        ModelText(model), " has no classes; request its vector with `embed`, or ask for features or attention without ",
        "top_k"));
  }
  if (!request.has_top_k()) return std::min(kDefaultTopK, classes);
  if (request.top_k() < 1 || request.top_k() > classes) {
    return absl::InvalidArgumentError(absl::StrCat("top_k is ", request.top_k(), ", but ", ModelText(model), " has ",
                                                   classes, " classes; ask for 1 to ", classes));
  }
  return request.top_k();
}

absl::Status CheckTensorForm(const v1::RawTensor& tensor, std::string_view data) {
  if (tensor.data_type() != v1::RawTensor::DATA_UINT8 && tensor.data_type() != v1::RawTensor::DATA_FLOAT32) {
    return absl::InvalidArgumentError("tensor.data_type must be DATA_UINT8 or DATA_FLOAT32");
  }
  if (!v1::RawTensor::Layout_IsValid(tensor.layout())) {
    return absl::InvalidArgumentError("tensor.layout must be HWC or CHW");
  }
  if (tensor.normalized() && tensor.data_type() != v1::RawTensor::DATA_FLOAT32) {
    return absl::InvalidArgumentError("a normalized tensor must be DATA_FLOAT32");
  }
  if (tensor.height() < 1 || tensor.height() > kMaxTensorSide || tensor.width() < 1 ||
      tensor.width() > kMaxTensorSide) {
    return absl::InvalidArgumentError(absl::StrCat("the tensor is ", tensor.height(), " x ", tensor.width(),
                                                   " pixels; each side must be 1 to ", kMaxTensorSide));
  }
  if (tensor.channels() != 1 && tensor.channels() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensor has ", tensor.channels(), " channels; it must have 1 (grey) or 3 (RGB)"));
  }
  const int64_t value_bytes = tensor.data_type() == v1::RawTensor::DATA_UINT8 ? 1 : 4;
  const int64_t expected = int64_t{tensor.height()} * tensor.width() * tensor.channels() * value_bytes;
  const int64_t sent = static_cast<int64_t>(data.size());
  if (sent != expected) {
    return absl::InvalidArgumentError(absl::StrCat("the tensor's data has ", sent, " bytes, but ", tensor.height(),
                                                   " x ", tensor.width(), " x ", tensor.channels(), " values of ",
                                                   value_bytes, " bytes need ", expected));
  }
  return absl::OkStatus();
}

absl::StatusOr<Size> PlanTensor(const v1::RawTensor& tensor, std::string_view data,
                                const v1::Preprocessing& preprocessing) {
  RETURN_IF_ERROR(CheckTensorForm(tensor, data));
  const Size size{tensor.height(), tensor.width()};
  if (!tensor.normalized()) return size;
  if (tensor.channels() != preprocessing.channels()) {
    return absl::InvalidArgumentError(absl::StrCat("the normalized tensor has ", tensor.channels(),
                                                   " channels, but the model requires ", preprocessing.channels()));
  }
  // A normalized tensor must already have the model's input size. Only the input size is taken from the geometry. The
  // geometry may also scale and crop, which applies to images but not to normalized tensors.
  ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, size));
  if (geometry.input != size) {
    return absl::InvalidArgumentError(absl::StrCat("the normalized tensor is ", SizeText(size),
                                                   ", which the model does not accept; the nearest size is ",
                                                   SizeText(geometry.input)));
  }
  return size;
}

// Returns the size of the image after its orientation is applied, or the size of the tensor.
absl::StatusOr<Size> InputSize(const v1::ClassifyRequest& request, std::string_view input,
                               const v1::Preprocessing& preprocessing) {
  switch (request.input_case()) {
    case v1::ClassifyRequest::kImage: {
      ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(input));
      return Size{header.height, header.width};
    }
    case v1::ClassifyRequest::kTensor:
      return PlanTensor(request.tensor(), input, preprocessing);
    default:
      return absl::InvalidArgumentError("the request has no input; set image (a JPEG, PNG or WebP file) or tensor");
  }
}

absl::StatusOr<std::optional<Size>> PlanResolution(const v1::ClassifyRequest& request, const LoadedModel& model) {
  if (!request.has_resolution()) return std::nullopt;
  if (request.tensor().normalized()) {
    return absl::InvalidArgumentError("resolution cannot be set for a normalized tensor, which is never resized");
  }
  const v1::Preprocessing& preprocessing = model.manifest.config().preprocessing();
  if (preprocessing.has_fixed()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "resolution was asked for, but ", ModelText(model), " takes only ", preprocessing.fixed().height(), " x ",
        preprocessing.fixed().width(), " pixels; leave resolution out and every image is brought to that size"));
  }
  return Size{request.resolution().height(), request.resolution().width()};
}

// Returns the number of pixels of one overlay on an image of this size, without the legend below it.
int64_t OverlayPixels(Size image) {
  const OverlayLook look;
  const double longer = std::max({image.height, image.width, 1});
  const double scale = std::clamp<double>(longer, look.min_side, look.max_side) / longer;
  return static_cast<int64_t>(std::ceil(image.height * scale) * std::ceil(image.width * scale));
}

// Fills the plan's attention and overlay_pixels. Adds the size of the attention values to `bytes`.
absl::Status PlanAttention(InferenceRequest& plan, int64_t& bytes) {
  const v1::ClassifyRequest& request = plan.request;
  if (request.attention_size() > kMaxAttentionRequests) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", request.attention_size(),
                                                   " attention entries; at most ", kMaxAttentionRequests,
                                                   " are allowed"));
  }
  int64_t overlays = 0;
  for (const v1::AttentionRequest& requested : request.attention()) {
    ASSIGN_OR_RETURN(v1::AttentionRequest resolved, ResolveAttention(requested, plan.model->attention, plan.grid));
    const AttentionSize size = SizeOf(resolved, plan.model->attention, plan.grid);
    if (resolved.encoding() != v1::OVERLAY_PNG) {
      bytes += size.maps * size.values_per_map * BytesPerValue(resolved.encoding());
    } else if (request.tensor().normalized()) {
      return absl::InvalidArgumentError(
          "an overlay was requested, but a normalized tensor has no image to draw on; request the values");
    } else {
      overlays += size.maps;
    }
    plan.attention.push_back(std::move(resolved));
  }
  plan.overlay_pixels = overlays * OverlayPixels(plan.geometry.original);
  if (overlays <= kMaxOverlays) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the request has ", overlays, " overlays; at most ", kMaxOverlays,
                                                 " are drawn for one request; ask for fewer layers or ",
                                                 "heads, or for values"));
}

// Fills the plan's features. Adds their size to `bytes`.
absl::Status PlanFeatures(InferenceRequest& plan, int64_t& bytes) {
  const v1::ClassifyRequest& request = plan.request;
  if (request.features_size() > kMaxFeatureRequests) {
    return absl::InvalidArgumentError(absl::StrCat("the request has ", request.features_size(),
                                                   " feature entries; at most ", kMaxFeatureRequests, " are allowed"));
  }
  const FeatureAbility& ability = plan.model->features;
  for (const v1::FeatureRequest& requested : request.features()) {
    ASSIGN_OR_RETURN(v1::FeatureRequest resolved, ResolveFeature(requested, ability));
    bytes += ValuesOf(resolved, ability, plan.grid) * (resolved.encoding() == v1::FEATURE_FLOAT16 ? 2 : 4);
    plan.features.push_back(std::move(resolved));
  }
  return absl::OkStatus();
}

// Resolves the attention and features of plan.request, and stores them in the plan. The plan's model, geometry and grid
// must be set. With overlays, answer_bytes is the maximum allowed, since the size of overlays is known only after they
// are drawn.
absl::Status PlanAttentionAndFeatures(InferenceRequest& plan) {
  int64_t bytes = 0;
  RETURN_IF_ERROR(PlanAttention(plan, bytes));
  RETURN_IF_ERROR(PlanFeatures(plan, bytes));
  const int64_t allowed = AttentionBytesAllowed(plan.request);
  const bool draws = std::any_of(plan.attention.begin(), plan.attention.end(),
                                 [](const auto& requested) { return requested.encoding() == v1::OVERLAY_PNG; });
  plan.answer_bytes = draws ? allowed : bytes;
  if (bytes <= allowed) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the attention maps and features take ", bytes, " bytes, but max_attention_bytes is ", allowed,
      "; allow more (up to ", kMaxAttentionBytes, "), or ask for fewer layers or heads, for UINT8 or FLOAT16"));
}

}  // namespace

absl::StatusOr<InferenceRequest> PlanRequest(ReceivedClassify request, ModelHandle model) {
  InferenceRequest plan;
  plan.model = std::move(model);
  plan.request = std::move(request.message);
  plan.input = request.input;
  plan.owner = std::move(request.owner);
  const LoadedModel& served = *plan.model;
  const v1::Preprocessing& preprocessing = served.manifest.config().preprocessing();
  RETURN_IF_ERROR(CheckEnvelope(plan.request));
  ASSIGN_OR_RETURN(plan.top_k, PlanTopK(plan.request, served));
  ASSIGN_OR_RETURN(const Size original, InputSize(plan.request, plan.input, preprocessing));
  ASSIGN_OR_RETURN(const std::optional<Size> requested, PlanResolution(plan.request, served));
  if (plan.request.tensor().normalized()) {
    plan.geometry = {.original = original, .scaled = original, .top = 0, .left = 0, .input = original};
  } else {
    ASSIGN_OR_RETURN(plan.geometry, PlanGeometry(preprocessing, original, requested));
  }
  ASSIGN_OR_RETURN(plan.grid, served.description->GridFor(plan.geometry.input.height, plan.geometry.input.width));
  plan.tokens = plan.grid.cells() + served.description->prefix_tokens();
  RETURN_IF_ERROR(PlanAttentionAndFeatures(plan));
  return plan;
}

}  // namespace vitrine
