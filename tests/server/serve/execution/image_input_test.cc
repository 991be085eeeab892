// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/image_input.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "server/registry/golden_input.h"
#include "tests/server/small_models.h"

namespace vitrine {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Size of the tensors, which the small model accepts without a resize.
constexpr int kHeight = 8, kWidth = 12;

v1::RawTensor Pixels(v1::RawTensor::Layout layout, v1::RawTensor::DataType type, bool normalized = false) {
  v1::RawTensor raw;
  raw.set_layout(layout);
  raw.set_data_type(type);
  raw.set_height(kHeight);
  raw.set_width(kWidth);
  raw.set_channels(3);
  raw.set_normalized(normalized);
  std::string data;
  const int pixels = kHeight * kWidth;
  for (int i = 0; i < pixels * 3; ++i) {
    const int pixel = layout == v1::RawTensor::CHW ? i % pixels : i / 3;
    const int channel = layout == v1::RawTensor::CHW ? i / pixels : i % 3;
    const uint8_t value = static_cast<uint8_t>(2 * pixel + channel * 20);
    const float as_float = static_cast<float>(value) / 255;
    if (type == v1::RawTensor::DATA_UINT8) {
      data.push_back(static_cast<char>(value));
    } else {
      data.append(reinterpret_cast<const char*>(&as_float), sizeof(as_float));
    }
  }
  raw.set_data(data);
  return raw;
}

v1::ClassifyRequest RequestOf(const v1::RawTensor& raw) {
  v1::ClassifyRequest request;
  *request.mutable_tensor() = raw;
  return request;
}

// Returns the image bytes or tensor values, as MessageWalker does for a received message.
std::string_view BytesOf(const v1::ClassifyRequest& request) {
  return request.has_image() ? request.image() : request.tensor().data();
}

// A model input that was made from a tensor. Keeps the request too, because the input may be a view of the request's
// bytes.
class Input {
 public:
  explicit Input(const v1::RawTensor& raw) : request_(RequestOf(raw)) {
    const v1::ModelConfig config = SmallNativeConfig();
    const auto geometry = PlanGeometry(config.preprocessing(), Size{kHeight, kWidth});
    EXPECT_TRUE(geometry.ok()) << geometry.status();
    input_ = MakeImageInput(request_, BytesOf(request_), config.preprocessing(), *geometry);
  }

  bool ok() const { return input_.ok(); }
  const absl::Status& status() const { return input_.status(); }
  const v1::RawTensor& raw() const { return request_.tensor(); }
  const ImageInput& operator*() const { return *input_; }

 private:
  const v1::ClassifyRequest request_;
  absl::StatusOr<ImageInput> input_;
};

std::vector<float> Values(const Input& input) {
  EXPECT_TRUE(input.ok()) << input.status();
  if (!input.ok()) return {};
  const engine::ImagePlanes& pixels = (*input).pixels;
  return {pixels.data, pixels.data + size_t{1} * pixels.channels * pixels.height * pixels.width};
}

TEST(MakeImageInput, LayoutsAndTypesOfTheSamePixelsGiveTheSameInput) {
  const std::vector<float> expected = Values(Input(Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_UINT8)));
  ASSERT_EQ(expected.size(), size_t{3} * kHeight * kWidth);
  // Expects (value / 255 - mean) / std for pixel 5 of channel 1.
  EXPECT_NEAR(expected[kHeight * kWidth + 5], ((2 * 5 + 20) / 255.0 - 0.5) / 0.25, 1e-5);
  EXPECT_EQ(Values(Input(Pixels(v1::RawTensor::CHW, v1::RawTensor::DATA_UINT8))), expected);
  EXPECT_THAT(Values(Input(Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_FLOAT32))),
              Pointwise(FloatNear(1e-5), expected));
  EXPECT_THAT(Values(Input(Pixels(v1::RawTensor::CHW, v1::RawTensor::DATA_FLOAT32))),
              Pointwise(FloatNear(1e-5), expected));
}

TEST(MakeImageInput, FloatPixelsAreNotRounded) {
  v1::RawTensor raw = Pixels(v1::RawTensor::CHW, v1::RawTensor::DATA_FLOAT32);
  const float value = 100.4f / 255;  // between two 8-bit values
  std::memcpy(raw.mutable_data()->data() + 5 * sizeof(float), &value, sizeof(value));
  const std::vector<float> input = Values(Input(raw));
  ASSERT_EQ(input.size(), size_t{3} * kHeight * kWidth);
  EXPECT_NEAR(input[5], (value - 0.5) / 0.25, 1e-5);
}

// Tests that the image under an overlay has the tensor's pixels in 8 bits.
TEST(MakeImageInput, FloatPixelsCanBeDrawnOn) {
  const v1::ModelConfig config = SmallNativeConfig();
  const auto geometry = PlanGeometry(config.preprocessing(), Size{kHeight, kWidth});
  ASSERT_TRUE(geometry.ok());
  v1::ClassifyRequest bytes, floats;
  *bytes.mutable_tensor() = Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_UINT8);
  *floats.mutable_tensor() = Pixels(v1::RawTensor::CHW, v1::RawTensor::DATA_FLOAT32);
  for (v1::ClassifyRequest* request : {&bytes, &floats}) request->add_attention()->set_encoding(v1::OVERLAY_PNG);
  const auto expected = MakeImageInput(bytes, BytesOf(bytes), config.preprocessing(), *geometry);
  const auto input = MakeImageInput(floats, BytesOf(floats), config.preprocessing(), *geometry);
  ASSERT_TRUE(expected.ok() && input.ok());
  ASSERT_NE(input->image, nullptr);
  EXPECT_EQ(input->image->width, kWidth);
  EXPECT_EQ(input->image->pixels, expected->image->pixels);
}

TEST(MakeImageInput, ANormalizedTensorIsNotChanged) {
  const auto chw = Values(Input(Pixels(v1::RawTensor::CHW, v1::RawTensor::DATA_FLOAT32, true)));
  const auto hwc = Values(Input(Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_FLOAT32, true)));
  EXPECT_EQ(chw, hwc);
  ASSERT_EQ(chw.size(), size_t{3} * kHeight * kWidth);
  EXPECT_FLOAT_EQ(chw[2 * kHeight * kWidth + 7], (2 * 7 + 40) / 255.0f);
}

// Tests that a tensor in the layout of the model's input is not copied.
TEST(MakeImageInput, ANormalizedPlanarTensorIsNotCopied) {
  const Input input(Pixels(v1::RawTensor::CHW, v1::RawTensor::DATA_FLOAT32, true));
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(static_cast<const void*>((*input).pixels.data), input.raw().data().data());
  EXPECT_EQ((*input).pixels.height, kHeight);
  EXPECT_EQ((*input).pixels.width, kWidth);
}

TEST(MakeImageInput, RefusesValuesThatCannotBePixels) {
  for (const float bad : {1.01f, -0.01f, std::numeric_limits<float>::quiet_NaN()}) {
    v1::RawTensor raw = Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_FLOAT32);
    std::memcpy(raw.mutable_data()->data() + 40, &bad, sizeof(bad));
    EXPECT_THAT(Input(raw).status().ToString(),
                HasSubstr(std::isnan(bad) ? "not finite" : "divide pixels of 0 to 255 by 255"))
        << bad;
  }
  v1::RawTensor raw = Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_FLOAT32, true);
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(raw.mutable_data()->data(), &infinite, sizeof(infinite));
  EXPECT_EQ(Input(raw).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MakeImageInput, RefusesATensorWithTooFewBytes) {
  v1::RawTensor raw = Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_UINT8);
  raw.mutable_data()->resize(10);
  EXPECT_THAT(Input(raw).status().ToString(), HasSubstr("the tensor has 10 bytes, but its size needs 288"));
}

TEST(MakeImageInput, RefusesAnImageOfAnotherSizeThanPlanned) {
  v1::ClassifyRequest request;
  request.set_image(NoisePng(16, 16, 1));
  const v1::ModelConfig config = SmallNativeConfig();
  const auto geometry = PlanGeometry(config.preprocessing(), Size{16, 24});
  ASSERT_TRUE(geometry.ok());
  EXPECT_THAT(MakeImageInput(request, BytesOf(request), config.preprocessing(), *geometry).status().ToString(),
              HasSubstr("header says 24x16, its data is 16x16"));
}

TEST(DecodeGoldenInput, HasTheSizeOfTheModelsInput) {
  const auto input = DecodeGoldenInput(NoisePng(16, 24, 1), SmallNativeConfig().preprocessing());
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->shape, (std::vector<int64_t>{3, 16, 24}));
  EXPECT_FALSE(DecodeGoldenInput("no image", SmallNativeConfig().preprocessing()).ok());
}

TEST(ImageInput, KeepsTheOriginalOnlyForAnOverlay) {
  v1::ClassifyRequest request;
  *request.mutable_tensor() = Pixels(v1::RawTensor::HWC, v1::RawTensor::DATA_UINT8);
  request.add_attention()->set_encoding(v1::FLOAT16);
  const v1::ModelConfig config = SmallNativeConfig();
  const auto geometry = PlanGeometry(config.preprocessing(), Size{kHeight, kWidth});
  ASSERT_TRUE(geometry.ok());
  auto input = MakeImageInput(request, BytesOf(request), config.preprocessing(), *geometry);
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->image, nullptr) << "no overlay needs the original, which would take memory";
  request.add_attention()->set_encoding(v1::OVERLAY_PNG);
  input = MakeImageInput(request, BytesOf(request), config.preprocessing(), *geometry);
  ASSERT_TRUE(input.ok());
  EXPECT_NE(input->image, nullptr);
}

// Tests that the overlay gets the full image, while the model's input is still made from the reduced image.
TEST(ImageInput, OverlaysUseTheFullImageIfTheModelDecodesReduced) {
  v1::Preprocessing preprocessing = SmallNativeConfig().preprocessing();
  preprocessing.clear_native();
  preprocessing.mutable_fixed()->set_height(kHeight);
  preprocessing.mutable_fixed()->set_width(kWidth);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::STRETCH);
  const Size whole = {kHeight * 4, kWidth * 4};
  const Geometry geometry = *PlanGeometry(preprocessing, whole);
  v1::ClassifyRequest request;
  request.set_image(NoisePng(whole.height, whole.width, 1));
  const auto full = MakeImageInput(request, BytesOf(request), preprocessing, geometry);
  preprocessing.set_decode(v1::Preprocessing::REDUCED);
  const auto plain = MakeImageInput(request, BytesOf(request), preprocessing, geometry);
  request.add_attention()->set_encoding(v1::OVERLAY_PNG);
  const auto drawn = MakeImageInput(request, BytesOf(request), preprocessing, geometry);
  ASSERT_TRUE(full.ok() && plain.ok() && drawn.ok());
  EXPECT_NE(plain->values, full->values);
  EXPECT_EQ(drawn->values, plain->values);
  ASSERT_NE(drawn->image, nullptr);
  EXPECT_EQ(drawn->image->width, whole.width);
  EXPECT_EQ(drawn->image->height, whole.height);
}

TEST(ImageInput, RefusesNormalizedValuesThatNoImageCanHave) {
  v1::RawTensor raw = Pixels(v1::RawTensor::CHW, v1::RawTensor::DATA_FLOAT32, true);
  EXPECT_TRUE(Input(raw).ok());
  const float huge = 1e30f;
  std::memcpy(raw.mutable_data()->data(), &huge, sizeof(huge));
  EXPECT_EQ(Input(raw).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vitrine
