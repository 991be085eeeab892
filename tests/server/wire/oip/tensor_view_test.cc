// SPDX-License-Identifier: Apache-2.0
#include "server/wire/oip/tensor_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/server/wire/oip/infer_request.h"

namespace vitrine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

std::string Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::vector<float> Floats(std::string_view bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

v1::Preprocessing Colour() {
  v1::Preprocessing preprocessing;
  preprocessing.set_channels(3);
  for (const float mean : {0.5F, 0.25F, 0.75F}) preprocessing.add_mean(mean);
  for (const float std : {0.5F, 1.0F, 2.0F}) preprocessing.add_std(std);
  preprocessing.set_interpolation(v1::BICUBIC);
  preprocessing.mutable_native()->set_cell(8);
  preprocessing.mutable_native()->set_min_tokens(4);
  preprocessing.mutable_native()->set_max_tokens(64);
  return preprocessing;
}

v1::Preprocessing Grey() {
  v1::Preprocessing preprocessing;
  preprocessing.set_channels(1);
  preprocessing.add_mean(0.5F);
  preprocessing.add_std(0.5F);
  preprocessing.set_interpolation(v1::BICUBIC);
  preprocessing.mutable_fixed()->set_height(28);
  preprocessing.mutable_fixed()->set_width(20);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::CENTER_CROP);
  preprocessing.mutable_fixed()->set_crop(0.875);
  return preprocessing;
}

TEST(ModelName, CanNameAView) {
  EXPECT_EQ(ReadModelName("m")->model, "m");
  EXPECT_FALSE(ReadModelName("m")->view.has_value());
  EXPECT_FALSE(ReadModelName("")->view.has_value());
  for (const auto& [name, scale] : {std::pair("m.1:tensor", PixelScale::kNone),
                                    {"m.1:tensor-inception", PixelScale::kInception},
                                    {"m.1:tensor-vgg", PixelScale::kVgg}}) {
    const auto read = ReadModelName(name);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->model, "m.1");
    EXPECT_EQ(read->view, scale);
    EXPECT_EQ(NameOf(read->model, read->view), name);
  }
  EXPECT_EQ(NameOf("m", std::nullopt), "m");
  for (const char* name : {"m:", "m:Tensor", "m:tensor:", ":"}) {
    EXPECT_EQ(ReadModelName(name).status().code(), absl::StatusCode::kNotFound) << name;
    EXPECT_THAT(std::string(ReadModelName(name).status().message()), HasSubstr("NAME:tensor-vgg"));
  }
}

TEST(TensorView, HasOneSize) {
  EXPECT_EQ(*ViewSize(Colour()), (Size{32, 32})) << "16 tokens are between 4 and 64";
  EXPECT_EQ(*ViewSize(Grey()), (Size{28, 20})) << "the size is the model's input, without a crop";
  v1::Preprocessing one = Colour();
  one.mutable_native()->set_min_tokens(42);
  one.mutable_native()->set_max_tokens(42);
  const auto size = ViewSize(one);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(size->height * size->width, 42 * 64) << "no square has 42 tokens";
}

TEST(TensorView, EveryScaleGivesTheSameInput) {
  const std::vector<float> pixels = {0, 255, 51, 102, 204, 153};  // two values per channel
  std::vector<float> expected, inception, vgg;
  constexpr float kVgg[] = {123, 117, 104};
  for (size_t i = 0; i < pixels.size(); ++i) {
    const int channel = static_cast<int>(i / 2);
    expected.push_back((pixels[i] / 255 - Colour().mean(channel)) / Colour().std(channel));
    inception.push_back(pixels[i] / 127.5F - 1);
    vgg.push_back(pixels[i] - kVgg[channel]);
  }
  for (const auto& [scale, values] :
       {std::pair(PixelScale::kNone, pixels), {PixelScale::kInception, inception}, {PixelScale::kVgg, vgg}}) {
    const auto input = ToModelInput(scale, Colour(), Bytes(values));
    ASSERT_TRUE(input.ok()) << input.status();
    EXPECT_THAT(Floats(*input), Pointwise(FloatNear(1e-5F), expected));
  }
  EXPECT_THAT(Floats(*ToModelInput(PixelScale::kVgg, Grey(), Bytes({-128, 127}))), ElementsAre(-1, 1));
}

TEST(TensorView, ValuesOfAnotherScaleAreRefused) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [scale, values] : {std::pair(PixelScale::kNone, std::vector<float>{-0.5F, 0.25F, 1}),
                                      {PixelScale::kNone, {0, 0.25F, 1}},
                                      {PixelScale::kNone, {-123, 0, 4}},
                                      {PixelScale::kNone, {0, 256, 4}},
                                      {PixelScale::kNone, {0, kNan, 4}},
                                      {PixelScale::kVgg, {-0.5F, 0.25F, 1}},
                                      {PixelScale::kVgg, {0, 200, 7}},
                                      {PixelScale::kInception, {0, 2, 200}},
                                      {PixelScale::kInception, {0, kNan, 0}},
                                      {PixelScale::kInception, {-1.5F, 0, 0}}}) {
    const auto input = ToModelInput(scale, Colour(), Bytes(values));
    EXPECT_EQ(input.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(input.status().message()), HasSubstr("NAME:tensor-inception from -1 to 1"));
  }
  EXPECT_TRUE(ToModelInput(PixelScale::kNone, Colour(), Bytes({0, 1, 1})).ok()) << "the image may be nearly black";
  EXPECT_TRUE(ToModelInput(PixelScale::kNone, Colour(), Bytes({-0.001F, 255.001F, 1})).ok())
      << "small rounding errors are allowed";
}

inference::ModelInferRequest Request(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  return testing::Request("FP32", shape, Bytes(values));
}

TEST(TensorView, PlansEachImageAsTheModelsInput) {
  const v1::Preprocessing preprocessing = Colour();
  const TensorView view = {.scale = PixelScale::kNone, .preprocessing = preprocessing};
  const PlannedModel model = {.classes = 10, .view = &view};
  // Uses a width that equals the number of channels, so the layout is ambiguous.
  std::vector<float> values(2 * 3 * 2 * 3, 255);
  values[0] = 0;
  const auto plan = PlanInfer(*testing::Received(Request({2, 3, 2, 3}, values)), model);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->parts.size(), 2u);
  const v1::RawTensor& tensor = plan->parts[1].message.tensor();
  EXPECT_TRUE(tensor.normalized());
  EXPECT_EQ(tensor.layout(), v1::RawTensor::CHW);
  EXPECT_THAT((std::vector<int>{tensor.height(), tensor.width(), tensor.channels()}), ElementsAre(2, 3, 3));
  EXPECT_EQ(Floats(plan->parts[0].input)[0], -1);
  EXPECT_EQ(Floats(plan->parts[1].input)[0], 1);
  ASSERT_EQ(plan->outputs.size(), 1u) << "the output is the one in the metadata";
  EXPECT_EQ(plan->outputs[0].name, kProbabilities);

  const auto refusal = [&](const inference::ModelInferRequest& request) {
    return std::string(PlanInfer(*testing::Received(request), model).status().message());
  };
  EXPECT_THAT(refusal(Request({1, 1, 2, 2}, {1, 2, 3, 4})), HasSubstr("[n, 3, H, W]"));
  EXPECT_THAT(refusal(Request({3, 2, 3}, std::vector<float>(18))), HasSubstr("[3, 2, 3]"));
  values.back() = 300;
  EXPECT_THAT(refusal(Request({2, 3, 2, 3}, values)), AllOf(HasSubstr("element 1"), HasSubstr("300")));
  inference::ModelInferRequest bytes = Request({1, 3, 2, 2}, {});
  bytes.mutable_inputs(0)->set_datatype("UINT8");
  EXPECT_THAT(refusal(bytes), HasSubstr("accepts FP32"));
  inference::ModelInferRequest normalized = Request({1, 3, 2, 2}, std::vector<float>(12));
  (*normalized.mutable_inputs(0)->mutable_parameters())["normalized"].set_bool_param(true);
  EXPECT_THAT(refusal(normalized), HasSubstr("\"normalized\", which is unknown"));
}

}  // namespace
}  // namespace vitrine
