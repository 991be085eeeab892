// SPDX-License-Identifier: Apache-2.0
// Tests that DecodeInput gives the same bits and errors as DecodePlanned followed by Preprocess.
#include "common/imaging/decode_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/imaging/decode_planned.h"
#include "common/imaging/header.h"
#include "common/imaging/preprocess.h"
#include "tests/common/imaging/images.h"

namespace vitrine {
namespace {

struct Named {
  std::string name;
  std::string bytes;
};

v1::Preprocessing Model(int channels, v1::Interpolation interpolation, v1::Preprocessing::Decode decode) {
  v1::Preprocessing model;
  model.set_channels(channels);
  for (int c = 0; c < channels; ++c) {
    model.add_mean(0.1f * (c + 1));
    model.add_std(0.2f * (c + 1));
  }
  model.set_interpolation(interpolation);
  model.set_decode(decode);
  return model;
}

v1::Preprocessing Fixed(v1::Preprocessing model, int height, int width, v1::FixedResolution::Fit fit, float crop = 0) {
  model.mutable_fixed()->set_height(height);
  model.mutable_fixed()->set_width(width);
  model.mutable_fixed()->set_fit(fit);
  model.mutable_fixed()->set_crop(crop);
  return model;
}

// Returns models of several kinds. Their input is smaller or larger than the images of the tests, cropped along one of
// the axes, stretched, or of a size that depends on the image.
std::vector<v1::Preprocessing> Models() {
  std::vector<v1::Preprocessing> models;
  for (const auto interpolation : {v1::BILINEAR, v1::BICUBIC}) {
    for (const auto decode : {v1::Preprocessing::FULL, v1::Preprocessing::REDUCED}) {
      const v1::Preprocessing colour = Model(3, interpolation, decode);
      models.push_back(Fixed(colour, 24, 24, v1::FixedResolution::CENTER_CROP));
      models.push_back(Fixed(colour, 12, 12, v1::FixedResolution::CENTER_CROP, 0.7f));
      models.push_back(Fixed(colour, 7, 60, v1::FixedResolution::CENTER_CROP));
      models.push_back(Fixed(colour, 60, 7, v1::FixedResolution::CENTER_CROP));
      models.push_back(Fixed(colour, 9, 31, v1::FixedResolution::STRETCH));
      models.push_back(Fixed(colour, 150, 130, v1::FixedResolution::CENTER_CROP, 0.5f));
      models.push_back(Fixed(Model(1, interpolation, decode), 20, 24, v1::FixedResolution::CENTER_CROP));
      models.push_back(colour);
      models.back().mutable_native()->set_cell(4);
      models.back().mutable_native()->set_min_tokens(4);
      models.back().mutable_native()->set_max_tokens(64);
      models.push_back(Fixed(colour, 12, 12, v1::FixedResolution::CENTER_CROP, 0.7f));
      models.back().set_rounding(v1::Preprocessing::PILLOW);
    }
  }
  return models;
}

void ExpectTheSame(std::string_view bytes, const v1::Preprocessing& model, const Geometry& geometry) {
  // Copies the file to a buffer of exactly its size, so that AddressSanitizer detects reads beyond the end.
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const auto input = DecodeInput({copy.get(), bytes.size()}, model, geometry);
  const auto image = DecodePlanned(bytes, model, geometry);
  ASSERT_EQ(input.status(), image.status());
  if (!image.ok()) return;
  const std::vector<float> expected = Preprocess(*image, model, geometry);
  ASSERT_EQ(input->size(), expected.size());
  // Compares bytes, because a comparison of floats would treat 0 and -0 as equal.
  ASSERT_EQ(std::memcmp(input->data(), expected.data(), expected.size() * sizeof(float)), 0);
}

void ExpectTheSame(const Named& file, const std::vector<v1::Preprocessing>& models) {
  const auto header = ReadHeader(file.bytes);
  ASSERT_TRUE(header.ok()) << file.name << ": " << header.status();
  for (const v1::Preprocessing& model : models) {
    SCOPED_TRACE(absl::StrCat(file.name, "\n", model.DebugString()));
    const auto geometry = PlanGeometry(model, {header->height, header->width});
    if (!geometry.ok()) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectTheSame(file.bytes, model, *geometry));
  }
}

// With these sizes and models, the edges of crops are at every offset within a block.
TEST(DecodeInput, GivesTheSameForAnySizeAndSubsampling) {
  const std::vector<v1::Preprocessing> models = Models();
  for (const auto& [width, height] : {std::pair{1, 1}, {3, 200}, {64, 48}, {97, 61}, {61, 97}, {150, 33}, {131, 130}}) {
    for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}}) {
      const JpegOptions options = {.quality = 80, .across = across, .down = down};
      ASSERT_NO_FATAL_FAILURE(
          ExpectTheSame({absl::StrCat(width, "x", height, ", colour ", across, "x", down, " times smaller"),
                         JpegFile(NoiseImage(width, height, 3), options)},
                        models));
    }
  }
}

TEST(DecodeInput, GivesTheSameForEveryCrop) {
  const Image image = NoiseImage(83, 71, 3);
  for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    const std::string file = JpegFile(image, {.across = across, .down = down});
    for (const auto decode : {v1::Preprocessing::FULL, v1::Preprocessing::REDUCED}) {
      for (int side = 5; side <= 30; side += 5) {
        const v1::Preprocessing model =
            Fixed(Model(3, v1::BILINEAR, decode), side, side, v1::FixedResolution::CENTER_CROP);
        Geometry geometry = *PlanGeometry(model, {71, 83});
        // Tries crops from the top left to the bottom right of the scaled image.
        geometry.input = {4, 4};
        for (geometry.top = 0; geometry.top + 4 <= geometry.scaled.height; geometry.top += 3) {
          for (geometry.left = 0; geometry.left + 4 <= geometry.scaled.width; geometry.left += 2) {
            ASSERT_NO_FATAL_FAILURE(ExpectTheSame(file, model, geometry))
                << across << "x" << down << ", " << side << " at " << geometry.left << ", " << geometry.top;
          }
        }
      }
    }
  }
}

std::vector<Named> EveryKind(int width, int height) {
  const Image colour = NoiseImage(width, height, 3), grey = NoiseImage(width, height, 1);
  std::vector<Named> files = {
      {"grey", JpegFile(grey)},
      {"grey, subsampled", JpegFile(grey, {.subsample = true})},
      {"smooth", JpegFile(SmoothImage(width, height, 3))},
      {"subsampled with restarts", JpegFile(colour, {.quality = 30, .subsample = true, .restart_rows = 1})},
      {"progressive", JpegFile(colour, {.progressive = true, .subsample = true})},
      {"progressive grey of many scans", JpegFile(grey, {.scans = 12})},
      {"CMYK", JpegFile(colour, {.cmyk = true, .key = 100})},
      {"CMYK without Adobe's marker", JpegFile(colour, {.cmyk = true, .key = 100, .adobe = false})},
      {"YCCK", JpegFile(colour, {.subsample = true, .cmyk = true, .ycck = true})},
      {"PNG", PngFile(colour)},
      {"grey PNG", PngFile(grey)},
      {"turned PNG", PngFile(colour, {.exif = ExifBlock(8)})},
  };
  for (int orientation = 1; orientation <= 8; ++orientation) {
    files.push_back(
        {absl::StrCat("orientation ", orientation), JpegFile(SmoothImage(width, height, 3),  //
                                                             {.subsample = true, .exif = ExifBlock(orientation)})});
  }
  return files;
}

TEST(DecodeInput, GivesTheSameForEveryKindOfImage) {
  const std::vector<v1::Preprocessing> models = Models();
  for (const auto& [width, height] : {std::pair{97, 61}, {40, 130}}) {
    for (const Named& file : EveryKind(width, height)) ASSERT_NO_FATAL_FAILURE(ExpectTheSame(file, models));
  }
}

// Returns models that need only some rows or columns of the damaged files, and one model that needs all of them.
std::vector<v1::Preprocessing> ModelsForDamage() {
  const v1::Preprocessing colour = Model(3, v1::BILINEAR, v1::Preprocessing::FULL);
  return {Fixed(colour, 5, 20, v1::FixedResolution::CENTER_CROP),
          Fixed(colour, 20, 5, v1::FixedResolution::CENTER_CROP),
          Fixed(Model(1, v1::BICUBIC, v1::Preprocessing::REDUCED), 6, 6, v1::FixedResolution::STRETCH)};
}

TEST(DecodeInput, GivesTheSameErrorForATruncatedFile) {
  const std::vector<v1::Preprocessing> models = ModelsForDamage();
  for (const Named& file : EveryKind(53, 49)) {
    const auto header = ReadHeader(file.bytes);
    for (const v1::Preprocessing& model : models) {
      const Geometry geometry = *PlanGeometry(model, {header->height, header->width});
      for (size_t size = 0; size < file.bytes.size(); size += 1 + size / 97) {
        ASSERT_FALSE(DecodeInput(file.bytes.substr(0, size), model, geometry).ok()) << file.name << " of " << size;
        ASSERT_NO_FATAL_FAILURE(ExpectTheSame(file.bytes.substr(0, size), model, geometry)) << file.name << size;
      }
    }
  }
}

TEST(DecodeInput, GivesTheSameForAFlippedBit) {
  const std::vector<v1::Preprocessing> models = ModelsForDamage();
  for (const Named& file : EveryKind(53, 49)) {
    const auto header = ReadHeader(file.bytes);
    std::string bytes = file.bytes;
    for (const v1::Preprocessing& model : models) {
      const Geometry geometry = *PlanGeometry(model, {header->height, header->width});
      for (size_t bit = 0; bit < bytes.size() * 8; bit += 131) {
        bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
        ASSERT_NO_FATAL_FAILURE(ExpectTheSame(bytes, model, geometry)) << file.name << ", bit " << bit;
        bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
      }
    }
  }
}

TEST(DecodeInput, RefusesAnImageThatIsNotOfThePlannedSize) {
  const v1::Preprocessing model =
      Fixed(Model(3, v1::BILINEAR, v1::Preprocessing::FULL), 8, 8, v1::FixedResolution::CENTER_CROP);
  const Geometry geometry = *PlanGeometry(model, {40, 40});
  const std::string file = JpegFile(SmoothImage(40, 30, 3));
  EXPECT_EQ(DecodeInput(file, model, geometry).status(), DecodePlanned(file, model, geometry).status());
  EXPECT_FALSE(DecodeInput(file, model, geometry).ok());
}

TEST(DecodeInput, PlansForTheImageItself) {
  const v1::Preprocessing model =
      Fixed(Model(3, v1::BILINEAR, v1::Preprocessing::FULL), 8, 8, v1::FixedResolution::CENTER_CROP);
  const std::string file = JpegFile(SmoothImage(40, 30, 3), {.exif = ExifBlock(6)});
  const auto input = PlanAndDecodeInput(file, model);
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->geometry.original, (Size{40, 30}));
  EXPECT_EQ(input->values, *DecodeInput(file, model, input->geometry));
  EXPECT_EQ(PlanAndDecodeInput("no image", model).status(), PlanAndDecode("no image", model).status());
}

}  // namespace
}  // namespace vitrine
