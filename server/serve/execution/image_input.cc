// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/image_input.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cfloat>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/imaging/decode.h"
#include "common/imaging/decode_input.h"
#include "common/imaging/decode_planned.h"
#include "common/imaging/preprocess.h"
#include "common/imaging/raw_pixels.h"
#include "common/imaging/resize.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Maximum magnitude of a normalized value. Usual values are a few units; much larger values would make sums of products
// overflow fp32, and the logits would not be finite.
constexpr float kMaxNormalizedValue = 1e4f;

PixelOrder OrderOf(const v1::RawTensor& raw) {
  return raw.layout() == v1::RawTensor::CHW ? PixelOrder::kPlanar : PixelOrder::kInterleaved;
}

absl::Status CheckSize(const v1::RawTensor& raw, std::string_view data) {
  const int64_t bytes_per_value = raw.data_type() == v1::RawTensor::DATA_FLOAT32 ? 4 : 1;
  const int64_t expected = int64_t{raw.height()} * raw.width() * raw.channels() * bytes_per_value;
  if (static_cast<int64_t>(data.size()) == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the tensor has ", data.size(), " bytes, but its size needs ", expected));
}

absl::StatusOr<Image> BytesToImage(const v1::RawTensor& raw, std::string_view data) {
  RETURN_IF_ERROR(CheckSize(raw, data));
  return Image{raw.width(), raw.height(), raw.channels(), InterleavedBytes(data, raw.channels(), OrderOf(raw))};
}

// Converts values from 0 to 1 in the message to values from 0 to 255 in the image.
absl::StatusOr<FloatImage> FloatsToImage(const v1::RawTensor& raw, std::string_view data) {
  RETURN_IF_ERROR(CheckSize(raw, data));
  std::optional<std::vector<float>> values = PlanarFloats(data, raw.channels(), OrderOf(raw), {0, 1}, 255);
  constexpr ValueRange kFinite = {-FLT_MAX, FLT_MAX};
  if (!values.has_value() && !PlanarFloats(data, raw.channels(), OrderOf(raw), kFinite, 1).has_value()) {
    return absl::InvalidArgumentError("the tensor has a pixel that is not finite (NaN or infinity); send 0 to 1");
  }
  if (!values.has_value()) {
    return absl::InvalidArgumentError(
        "the tensor has pixels outside 0 to 1; divide pixels of 0 to 255 by 255, or send them as UINT8; set normalized "
        "only for values after the model's own normalization");
  }
  return FloatImage{raw.channels(), Size{raw.height(), raw.width()}, *std::move(values)};
}

absl::StatusOr<ImageInput> NormalizedToInput(const v1::RawTensor& raw, std::string_view data) {
  RETURN_IF_ERROR(CheckSize(raw, data));
  constexpr ValueRange kRange = {-kMaxNormalizedValue, kMaxNormalizedValue};
  ImageInput input;
  const float* pixels = OrderOf(raw) == PixelOrder::kPlanar ? FloatsInPlace(data, kRange) : nullptr;
  if (pixels == nullptr) {
    std::optional<std::vector<float>> values = PlanarFloats(data, raw.channels(), OrderOf(raw), kRange, 1);
    if (!values.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the tensor has a number that is not finite or of magnitude above ", kMaxNormalizedValue));
    }
    input.values = *std::move(values);
    pixels = input.values.data();
  }
  input.pixels = {pixels, raw.channels(), raw.height(), raw.width()};
  return input;
}

ImageInput InputOf(std::vector<float> values, const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  ImageInput input;
  input.values = std::move(values);
  input.pixels = {input.values.data(), preprocessing.channels(), geometry.input.height, geometry.input.width};
  return input;
}

template <typename AnyImage>
ImageInput ImageToInput(const AnyImage& image, const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  return InputOf(Preprocess(image, preprocessing, geometry), preprocessing, geometry);
}

// Returns true if the request has overlays. Only such requests keep their original image: a batch holds the inputs of
// all its requests, and an original may be a thousand times larger than an input.
bool Draws(const v1::ClassifyRequest& request) {
  return std::any_of(request.attention().begin(), request.attention().end(),
                     [](const auto& requested) { return requested.encoding() == v1::OVERLAY_PNG; });
}

engine::ImagePlanes Unread(const InferenceRequest& request, const v1::Preprocessing& preprocessing) {
  const bool normalized = request.request.has_tensor() && request.request.tensor().normalized();
  const Size size =
      normalized ? Size{request.request.tensor().height(), request.request.tensor().width()} : request.geometry.input;
  return {.data = nullptr, .channels = preprocessing.channels(), .height = size.height, .width = size.width};
}

}  // namespace

absl::StatusOr<ImageInput> MakeImageInput(const v1::ClassifyRequest& request, std::string_view bytes,
                                          const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  if (request.has_tensor() && request.tensor().normalized()) return NormalizedToInput(request.tensor(), bytes);
  if (request.has_tensor() && request.tensor().data_type() == v1::RawTensor::DATA_FLOAT32) {
    ASSIGN_OR_RETURN(const FloatImage image, FloatsToImage(request.tensor(), bytes));
    ImageInput input = ImageToInput(image, preprocessing, geometry);
    if (Draws(request)) input.image = std::make_shared<const Image>(RoundedToBytes(image));
    return input;
  }
  if (request.has_tensor()) {
    ASSIGN_OR_RETURN(Image image, BytesToImage(request.tensor(), bytes));
    ImageInput input = ImageToInput(image, preprocessing, geometry);
    if (Draws(request)) input.image = std::make_shared<const Image>(std::move(image));
    return input;
  }
  if (!Draws(request)) {
    ASSIGN_OR_RETURN(std::vector<float> values, DecodeInput(bytes, preprocessing, geometry));
    return InputOf(std::move(values), preprocessing, geometry);
  }
  ASSIGN_OR_RETURN(Image image, DecodePlanned(bytes, preprocessing, geometry));
  ImageInput input = ImageToInput(image, preprocessing, geometry);
  // Overlays are drawn on the full-size image. The model's input still comes from the reduced image, so that the
  // predictions are the same with and without overlays.
  if (DecodeDivisor(preprocessing, geometry) > 1) {
    ASSIGN_OR_RETURN(image, Decode(bytes));
  }
  input.image = std::make_shared<const Image>(std::move(image));
  return input;
}

absl::StatusOr<ImageInput> ReadInput(const InferenceRequest& request, uint64_t batch) {
  const v1::ModelConfig& config = request.model->description->config();
  try {
    if (!config.has_null()) {
      return MakeImageInput(request.request, request.input, config.preprocessing(), request.geometry);
    }
    ImageInput unread;
    unread.pixels = Unread(request, config.preprocessing());
    return unread;
  } catch (const std::exception& error) {
    spdlog::error("batch {}: decoding a request of {} bytes failed: {}", batch, request.InputBytes(), error.what());
    return absl::InternalError("the server failed to decode this image; its log has the cause");
  }
}

}  // namespace vitrine
