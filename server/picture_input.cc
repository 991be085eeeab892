#include "server/picture_input.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "imaging/decode.h"
#include "imaging/header.h"
#include "imaging/preprocess.h"

namespace vitrine {
namespace {

// Normalised inputs are a few units wide; far beyond, sums of products leave the range of fp32 and logits are not
// finite.
constexpr float kMaxNormalizedValue = 1e4f;

at::Tensor ToTensor(const std::vector<float>& values, int64_t channels, int64_t height, int64_t width) {
  at::Tensor tensor = at::empty({channels, height, width}, at::kFloat);
  std::memcpy(tensor.data_ptr<float>(), values.data(), values.size() * sizeof(float));
  return tensor;
}

// Calls put(index in [H, W, C] order, number of the value as it lies in the message) for every value.
template <typename Put>
void ForEachValue(const v1::RawTensor& raw, const Put& put) {
  const int64_t pixels = int64_t{raw.height()} * raw.width();
  const int64_t channels = raw.channels();
  for (int64_t i = 0; i < pixels * channels; ++i) {
    put(raw.layout() == v1::RawTensor::CHW ? (i % pixels) * channels + i / pixels : i, i);
  }
}

float FloatAt(const v1::RawTensor& raw, int64_t i) {
  float value;
  std::memcpy(&value, raw.data().data() + i * sizeof(float), sizeof(float));
  return value;
}

absl::Status CheckSize(const v1::RawTensor& raw) {
  const int64_t bytes_per_value = raw.data_type() == v1::RawTensor::DATA_FLOAT32 ? 4 : 1;
  const int64_t expected = int64_t{raw.height()} * raw.width() * raw.channels() * bytes_per_value;
  if (static_cast<int64_t>(raw.data().size()) == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the tensor has ", raw.data().size(), " bytes, its size needs ", expected));
}

absl::StatusOr<Image> PixelsToImage(const v1::RawTensor& raw) {
  RETURN_IF_ERROR(CheckSize(raw));
  Image image{raw.width(), raw.height(), raw.channels(),
              std::vector<uint8_t>(size_t{1} * raw.height() * raw.width() * raw.channels())};
  if (raw.data_type() == v1::RawTensor::DATA_UINT8) {
    ForEachValue(raw, [&](int64_t to, int64_t from) { image.pixels[to] = static_cast<uint8_t>(raw.data()[from]); });
    return image;
  }
  bool in_range = true;
  ForEachValue(raw, [&](int64_t to, int64_t from) {
    const float value = FloatAt(raw, from);
    const bool good = value >= 0 && value <= 1;  // false for NaN
    in_range = in_range && good;
    image.pixels[to] = good ? static_cast<uint8_t>(std::lround(value * 255)) : 0;
  });
  if (!in_range) {
    return absl::InvalidArgumentError(
        "the tensor holds pixels outside 0 to 1; set normalized if they are already what the model expects");
  }
  return image;
}

absl::StatusOr<at::Tensor> NormalizedToTensor(const v1::RawTensor& raw) {
  RETURN_IF_ERROR(CheckSize(raw));
  at::Tensor tensor = at::empty({raw.channels(), raw.height(), raw.width()}, at::kFloat);
  float* values = tensor.data_ptr<float>();
  const int64_t pixels = int64_t{raw.height()} * raw.width();
  bool in_range = true;
  ForEachValue(raw, [&](int64_t hwc, int64_t from) {
    const float value = FloatAt(raw, from);
    in_range = in_range && std::abs(value) <= kMaxNormalizedValue;  // false for NaN
    values[hwc % raw.channels() * pixels + hwc / raw.channels()] = value;
  });
  if (!in_range) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensor holds a number that is not finite or beyond ", kMaxNormalizedValue, " either way"));
  }
  return tensor;
}

absl::StatusOr<at::Tensor> ImageToTensor(const Image& image, const v1::Preprocessing& preprocessing,
                                         const Geometry& geometry) {
  if (Size{image.height, image.width} != geometry.original) {
    return absl::InvalidArgumentError(absl::StrCat("the picture's header says ", geometry.original.width, "x",
                                                   geometry.original.height, ", its data is ", image.width, "x",
                                                   image.height));
  }
  return ToTensor(Preprocess(image, preprocessing, geometry), preprocessing.channels(), geometry.input.height,
                  geometry.input.width);
}

}  // namespace

absl::StatusOr<PictureInput> MakePictureInput(const v1::ClassifyRequest& request,
                                              const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  PictureInput input;
  if (request.has_tensor() && request.tensor().normalized()) {
    ASSIGN_OR_RETURN(input.tensor, NormalizedToTensor(request.tensor()));
    return input;
  }
  Image image;
  if (request.has_tensor()) {
    ASSIGN_OR_RETURN(image, PixelsToImage(request.tensor()));
  } else {
    ASSIGN_OR_RETURN(image, Decode(request.image()));
  }
  ASSIGN_OR_RETURN(input.tensor, ImageToTensor(image, preprocessing, geometry));
  // A batch holds the inputs of all its requests; originals are a thousand times larger, so only overlays keep theirs.
  const bool draws = std::any_of(request.attention().begin(), request.attention().end(),
                                 [](const auto& wish) { return wish.encoding() == v1::OVERLAY_PNG; });
  if (draws) input.picture = std::make_shared<const Image>(std::move(image));
  return input;
}

absl::StatusOr<at::Tensor> EncodedPictureToInput(std::string_view picture, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(picture));
  ASSIGN_OR_RETURN(const Geometry geometry, PlanGeometry(preprocessing, Size{header.height, header.width}));
  ASSIGN_OR_RETURN(const Image image, Decode(picture));
  return ImageToTensor(image, preprocessing, geometry);
}

}  // namespace vitrine
