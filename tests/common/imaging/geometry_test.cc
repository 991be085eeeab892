// SPDX-License-Identifier: Apache-2.0
#include "common/imaging/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace vitrine {
namespace {

using ::testing::HasSubstr;

v1::Preprocessing Base() {
  v1::Preprocessing preprocessing;
  preprocessing.set_channels(3);
  for (int c = 0; c < 3; ++c) {
    preprocessing.add_mean(0.5f);
    preprocessing.add_std(0.25f);
  }
  preprocessing.set_interpolation(v1::BILINEAR);
  return preprocessing;
}

v1::Preprocessing Native(int cell, int min_tokens, int max_tokens) {
  v1::Preprocessing preprocessing = Base();
  preprocessing.mutable_native()->set_cell(cell);
  preprocessing.mutable_native()->set_min_tokens(min_tokens);
  preprocessing.mutable_native()->set_max_tokens(max_tokens);
  return preprocessing;
}

v1::Preprocessing Fixed(int height, int width, v1::FixedResolution::Fit fit) {
  v1::Preprocessing preprocessing = Base();
  preprocessing.mutable_fixed()->set_height(height);
  preprocessing.mutable_fixed()->set_width(width);
  preprocessing.mutable_fixed()->set_fit(fit);
  return preprocessing;
}

Geometry Plan(const v1::Preprocessing& preprocessing, Size original, std::optional<Size> requested = std::nullopt) {
  const absl::StatusOr<Geometry> geometry = PlanGeometry(preprocessing, original, requested);
  EXPECT_TRUE(geometry.ok()) << geometry.status();
  return geometry.ok() ? *geometry : Geometry{};
}

std::string Refusal(const v1::Preprocessing& preprocessing, Size original,
                    std::optional<Size> requested = std::nullopt) {
  const absl::StatusOr<Geometry> geometry = PlanGeometry(preprocessing, original, requested);
  if (geometry.ok()) return "(accepted)";
  EXPECT_EQ(geometry.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(geometry.status().message());
}

Size Grid(const Geometry& geometry, int cell) {
  return {geometry.input.height / cell, geometry.input.width / cell};
}

TEST(NativeGeometry, MeetsItsContractForEverySize) {
  struct Model {
    int cell, min_tokens, max_tokens;
  };
  for (const Model& m : {Model{4, 36, 144}, {3, 36, 144}, {16, 49, 576}, {1, 1, 64}, {14, 100, 130}}) {
    const v1::Preprocessing model = Native(m.cell, m.min_tokens, m.max_tokens);
    for (int height = 1; height <= 700; height += 1 + height / 7) {
      for (int width = 1; width <= 700; width += 1 + width / 5) {
        const double aspect = static_cast<double>(width) / height;
        const absl::StatusOr<Geometry> geometry = PlanGeometry(model, {height, width});
        const double longest = 2.0 * m.max_tokens;
        if (!geometry.ok()) {
          EXPECT_TRUE(aspect > longest * 0.999 || 1 / aspect > longest * 0.999) << height << " x " << width;
          continue;
        }
        EXPECT_EQ(geometry->scaled, geometry->input);
        EXPECT_EQ(geometry->original, (Size{height, width}));
        ASSERT_EQ(geometry->input.height % m.cell, 0);
        ASSERT_EQ(geometry->input.width % m.cell, 0);
        const Size grid = Grid(*geometry, m.cell);
        const int tokens = grid.height * grid.width;
        ASSERT_GE(tokens, m.min_tokens) << height << " x " << width;
        ASSERT_LE(tokens, m.max_tokens) << height << " x " << width;
        const double distortion = std::abs(std::log(grid.width / (grid.height * aspect)));
        ASSERT_LE(distortion, std::log(2) + 1e-6) << height << " x " << width;
        // Checks that no grid within the limits is better in both aspect ratio and number of tokens.
        const double own = static_cast<double>(height) * width / m.cell / m.cell;
        const double aim = std::clamp<double>(own, m.min_tokens, m.max_tokens);
        const double excess = std::abs(std::log(tokens / aim));
        for (int rows = 1; rows <= m.max_tokens; ++rows) {
          for (int columns = (m.min_tokens + rows - 1) / rows; rows * columns <= m.max_tokens; ++columns) {
            const bool nearer = std::abs(std::log(columns / (rows * aspect))) < distortion - 1e-6 &&
                                std::abs(std::log(rows * columns / aim)) < excess - 1e-6;
            ASSERT_FALSE(nearer) << height << " x " << width << " became " << grid.height << " x " << grid.width
                                 << " but could be " << rows << " x " << columns;
          }
        }
        if (height % m.cell == 0 && width % m.cell == 0) {
          if (own >= m.min_tokens && own <= m.max_tokens) {
            EXPECT_EQ(geometry->input, geometry->original);
          }
        }
      }
    }
  }
}

TEST(NativeGeometry, IsTransposedWithTheImage) {
  const v1::Preprocessing model = Native(4, 36, 144);
  for (int height = 5; height < 300; height += 7) {
    for (int width = 5; width < 300; width += 11) {
      const Geometry upright = Plan(model, {height, width});
      const Geometry turned = Plan(model, {width, height});
      EXPECT_EQ(upright.input.height * upright.input.width, turned.input.height * turned.input.width);
      EXPECT_EQ(upright.input, (Size{turned.input.width, turned.input.height})) << height << " x " << width;
    }
  }
}

TEST(NativeGeometry, TheNumberOfTokensFollowsTheSizeOfTheImage) {
  const v1::Preprocessing model = Native(4, 36, 144);
  EXPECT_EQ(Plan(model, {32, 32}).input, (Size{32, 32}));
  EXPECT_EQ(Plan(model, {33, 33}).input, (Size{32, 32}));
  EXPECT_EQ(Plan(model, {35, 35}).input, (Size{36, 36}));
  EXPECT_EQ(Plan(model, {40, 24}).input, (Size{40, 24}));
  EXPECT_EQ(Plan(model, {1, 1}).input, (Size{24, 24}));
  EXPECT_EQ(Plan(model, {4000, 4000}).input, (Size{48, 48}));
  EXPECT_EQ(Plan(model, {56, 64}).input, (Size{44, 52}));
  EXPECT_EQ(Plan(model, {375, 500}).input, (Size{40, 52}));
  EXPECT_EQ(Plan(model, {1080, 1920}).input, (Size{36, 64}));
}

TEST(NativeGeometry, ElongatedImages) {
  const v1::Preprocessing model = Native(4, 36, 144);
  // The target is 36 tokens, but the aspect ratio has a higher weight.
  EXPECT_EQ(Plan(model, {1, 144}).input, (Size{4, 532}));
  EXPECT_EQ(Plan(model, {1, 200}).input, (Size{4, 576}));
  EXPECT_EQ(Plan(model, {250, 1}).input, (Size{576, 4}));
  EXPECT_EQ(Plan(model, {1, 288}).input, (Size{4, 576}));
  EXPECT_THAT(Refusal(model, {1, 290}), HasSubstr("290 x 1"));
  EXPECT_THAT(Refusal(model, {8192, 1}), HasSubstr("closer to a square"));
  // These limits allow exactly 13 tokens.
  EXPECT_EQ(Grid(Plan(Native(8, 13, 13), {100, 900}), 8), (Size{1, 13}));
  EXPECT_THAT(Refusal(Native(8, 13, 13), {100, 100}), HasSubstr("13 to 13 tokens"));
}

TEST(NativeGeometry, ARequestedSizeReplacesTheImagesSize) {
  const v1::Preprocessing model = Native(4, 36, 144);
  EXPECT_EQ(Plan(model, {500, 375}, Size{32, 32}).input, (Size{32, 32}));
  EXPECT_EQ(Plan(model, {500, 375}, Size{33, 30}).input, (Size{32, 32}));
  EXPECT_EQ(Plan(model, {500, 375}, Size{24, 96}).input, (Size{24, 96}));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{64, 64}), HasSubstr("36 to 144 tokens"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{64, 64}), HasSubstr("16 x 16 = 256 tokens"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{16, 16}), HasSubstr("36 to 144 tokens"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{20, 0}), HasSubstr("resolution is 0 x 20 (width x height)"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{0, 32}), HasSubstr("1 to 8192"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{-5, 32}), HasSubstr("1 to 8192"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{2147483647, 2147483647}), HasSubstr("1 to 8192"));
}

TEST(FixedGeometry, StretchUsesTheWholeImage) {
  const Geometry geometry = Plan(Fixed(28, 28, v1::FixedResolution::STRETCH), {100, 50});
  EXPECT_EQ(geometry.scaled, (Size{28, 28}));
  EXPECT_EQ(geometry.input, (Size{28, 28}));
  EXPECT_EQ(geometry.top, 0);
  EXPECT_EQ(geometry.left, 0);
  EXPECT_FLOAT_EQ(geometry.OriginalX(28), 50);
  EXPECT_FLOAT_EQ(geometry.OriginalY(14), 50);
}

TEST(FixedGeometry, CenterCropFillsTheInputAndKeepsTheAspect) {
  const v1::Preprocessing model = Fixed(224, 224, v1::FixedResolution::CENTER_CROP);
  const Geometry landscape = Plan(model, {375, 500});
  EXPECT_EQ(landscape.scaled, (Size{224, 298}));
  EXPECT_EQ(landscape.left, 37);
  EXPECT_EQ(landscape.top, 0);
  EXPECT_NEAR(landscape.OriginalX(112), 249, 1.5);
}

// Recorded from timm 1.0.31's transforms_imagenet_eval on torchvision 0.26.
TEST(FixedGeometry, CenterCropEqualsTimmExactly) {
  struct Row {
    int input_height, input_width;
    double crop;
    int height, width, scaled_height, scaled_width, top, left;
  };
  for (const Row& row : std::vector<Row>{
           {224, 224, 1.0, 375, 500, 224, 298, 0, 37},      {224, 224, 1.0, 500, 375, 298, 224, 37, 0},
           {224, 224, 1.0, 481, 321, 335, 224, 56, 0},      {224, 224, 1.0, 7, 1001, 224, 32032, 0, 15904},
           {224, 224, 0.9, 500, 375, 330, 248, 53, 12},     {224, 224, 0.9, 333, 500, 248, 372, 12, 74},
           {224, 224, 0.9, 640, 427, 371, 248, 74, 12},     {224, 224, 0.9, 224, 224, 248, 248, 12, 12},
           {224, 224, 0.9, 7, 1001, 248, 35464, 12, 17620}, {224, 224, 0.875, 375, 500, 256, 341, 16, 58},
           {224, 224, 0.875, 481, 321, 383, 256, 80, 16},   {384, 384, 1.0, 481, 321, 575, 384, 96, 0},
           {224, 224, 0.8, 500, 375, 373, 280, 74, 28},     {224, 224, 0.8, 333, 500, 280, 420, 28, 98},
           {192, 256, 0.9, 375, 500, 213, 284, 10, 14},     {192, 256, 0.9, 500, 375, 379, 284, 94, 14},
           {192, 256, 0.9, 333, 500, 213, 320, 10, 32},     {192, 256, 0.9, 100, 50, 568, 284, 188, 14},
           {32, 32, 0.95, 375, 500, 33, 44, 0, 6},          {32, 32, 0.95, 481, 321, 49, 33, 8, 0},
           {32, 32, 0.95, 100, 50, 66, 33, 17, 0},
       }) {
    v1::Preprocessing model = Fixed(row.input_height, row.input_width, v1::FixedResolution::CENTER_CROP);
    model.mutable_fixed()->set_crop(row.crop);
    const Geometry geometry = Plan(model, {row.height, row.width});
    SCOPED_TRACE(std::to_string(row.height) + " x " + std::to_string(row.width) + ", crop " + std::to_string(row.crop));
    EXPECT_EQ(geometry.input, (Size{row.input_height, row.input_width}));
    EXPECT_EQ(geometry.scaled, (Size{row.scaled_height, row.scaled_width}));
    EXPECT_EQ(geometry.top, row.top);
    EXPECT_EQ(geometry.left, row.left);
  }
}

TEST(FixedGeometry, RefusesAnInvalidCrop) {
  v1::Preprocessing model = Fixed(224, 224, v1::FixedResolution::CENTER_CROP);
  for (const double crop : {-0.5, 1.5, 0.001, std::numeric_limits<double>::quiet_NaN()}) {
    model.mutable_fixed()->set_crop(crop);
    EXPECT_THAT(std::string(ValidatePreprocessing(model).message()), HasSubstr("crop is")) << crop;
  }
  model = Fixed(224, 224, v1::FixedResolution::STRETCH);
  model.mutable_fixed()->set_crop(0.9);
  EXPECT_THAT(std::string(ValidatePreprocessing(model).message()), HasSubstr("CENTER_CROP"));
}

TEST(FixedGeometry, RefusesARequestedSize) {
  EXPECT_THAT(Refusal(Fixed(28, 28, v1::FixedResolution::STRETCH), {100, 50}, Size{28, 28}), HasSubstr("28 x 28"));
}

TEST(PlanGeometry, RefusesAnImageWithoutPixels) {
  EXPECT_THAT(Refusal(Native(4, 36, 144), {0, 5}), HasSubstr("at least one"));
}

TEST(ValidatePreprocessing, NamesTheField) {
  EXPECT_TRUE(ValidatePreprocessing(Native(4, 36, 144)).ok());
  EXPECT_TRUE(ValidatePreprocessing(Fixed(28, 28, v1::FixedResolution::STRETCH)).ok());
  const auto expect = [](const char* field, auto change) {
    v1::Preprocessing preprocessing = Native(4, 36, 144);
    change(preprocessing);
    const absl::Status status = ValidatePreprocessing(preprocessing);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(field));
  };
  expect("channels", [](auto& p) { p.set_channels(2); });
  expect("means", [](auto& p) { p.add_mean(0); });
  expect("stds", [](auto& p) { p.clear_std(); });
  expect("a std", [](auto& p) { p.set_std(1, 0); });
  expect("a std", [](auto& p) { p.set_std(1, NAN); });
  expect("a mean", [](auto& p) { p.set_mean(1, INFINITY); });
  expect("interpolation", [](auto& p) { p.clear_interpolation(); });
  expect("rounding", [](auto& p) { p.set_rounding(static_cast<v1::Preprocessing::Rounding>(3)); });
  expect("decode", [](auto& p) { p.set_decode(static_cast<v1::Preprocessing::Decode>(3)); });
  expect("resolution", [](auto& p) { p.clear_native(); });
  expect("cell", [](auto& p) { p.mutable_native()->set_cell(0); });
  expect("min_tokens", [](auto& p) { p.mutable_native()->set_min_tokens(0); });
  expect("max_tokens", [](auto& p) { p.mutable_native()->set_max_tokens(35); });
  expect("max_tokens", [](auto& p) { p.mutable_native()->set_max_tokens(2147483647); });
  expect("height", [](auto& p) { p.mutable_fixed()->set_width(5); });
  expect("fit", [](auto& p) {
    p.mutable_fixed()->set_width(5);
    p.mutable_fixed()->set_height(5);
  });
}

}  // namespace
}  // namespace vitrine
