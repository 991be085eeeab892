#include "imaging/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

Geometry Plan(const v1::Preprocessing& preprocessing, Size original, std::optional<Size> wish = std::nullopt) {
  const absl::StatusOr<Geometry> geometry = PlanGeometry(preprocessing, original, wish);
  EXPECT_TRUE(geometry.ok()) << geometry.status();
  return geometry.ok() ? *geometry : Geometry{};
}

std::string Refusal(const v1::Preprocessing& preprocessing, Size original, std::optional<Size> wish = std::nullopt) {
  const absl::StatusOr<Geometry> geometry = PlanGeometry(preprocessing, original, wish);
  if (geometry.ok()) return "(accepted)";
  EXPECT_EQ(geometry.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(geometry.status().message());
}

Size Grid(const Geometry& geometry, int cell) {
  return {geometry.input.height / cell, geometry.input.width / cell};
}

TEST(NativeGeometry, HoldsItsPromisesForEverySize) {
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
        // No grid within the limits is nearer in aspect and in tokens.
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

TEST(NativeGeometry, TurnsWithThePicture) {
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

TEST(NativeGeometry, CostFollowsTheSizeOfThePicture) {
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

TEST(NativeGeometry, ElongatedPictures) {
  const v1::Preprocessing model = Native(4, 36, 144);
  // 36 tokens are aimed at; the aspect weighs more.
  EXPECT_EQ(Plan(model, {1, 144}).input, (Size{4, 532}));
  EXPECT_EQ(Plan(model, {1, 200}).input, (Size{4, 576}));
  EXPECT_EQ(Plan(model, {250, 1}).input, (Size{576, 4}));
  EXPECT_EQ(Plan(model, {1, 288}).input, (Size{4, 576}));
  EXPECT_THAT(Refusal(model, {1, 290}), HasSubstr("290 x 1"));
  EXPECT_THAT(Refusal(model, {8192, 1}), HasSubstr("long and narrow"));
  // Limits that leave hardly a choice.
  EXPECT_EQ(Grid(Plan(Native(8, 13, 13), {100, 900}), 8), (Size{1, 13}));
  EXPECT_THAT(Refusal(Native(8, 13, 13), {100, 100}), HasSubstr("13 to 13 tokens"));
}

TEST(NativeGeometry, AWishReplacesThePicturesOwnSize) {
  const v1::Preprocessing model = Native(4, 36, 144);
  EXPECT_EQ(Plan(model, {500, 375}, Size{32, 32}).input, (Size{32, 32}));
  EXPECT_EQ(Plan(model, {500, 375}, Size{33, 30}).input, (Size{32, 32}));
  EXPECT_EQ(Plan(model, {500, 375}, Size{24, 96}).input, (Size{24, 96}));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{64, 64}), HasSubstr("36 to 144 tokens"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{64, 64}), HasSubstr("16 x 16 = 256 tokens"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{16, 16}), HasSubstr("36 to 144 tokens"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{0, 32}), HasSubstr("1 to 8192"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{-5, 32}), HasSubstr("1 to 8192"));
  EXPECT_THAT(Refusal(model, {500, 375}, Size{2147483647, 2147483647}), HasSubstr("1 to 8192"));
}

TEST(FixedGeometry, StretchTakesTheWholePicture) {
  const Geometry geometry = Plan(Fixed(28, 28, v1::FixedResolution::STRETCH), {100, 50});
  EXPECT_EQ(geometry.scaled, (Size{28, 28}));
  EXPECT_EQ(geometry.input, (Size{28, 28}));
  EXPECT_EQ(geometry.top, 0);
  EXPECT_EQ(geometry.left, 0);
  EXPECT_FLOAT_EQ(geometry.OriginalX(28), 50);
  EXPECT_FLOAT_EQ(geometry.OriginalY(14), 50);
}

TEST(FixedGeometry, CenterCropCoversAndKeepsTheAspect) {
  const v1::Preprocessing model = Fixed(224, 224, v1::FixedResolution::CENTER_CROP);
  const Geometry landscape = Plan(model, {375, 500});
  EXPECT_EQ(landscape.scaled, (Size{224, 299}));
  EXPECT_EQ(landscape.left, 37);
  EXPECT_EQ(landscape.top, 0);
  EXPECT_NEAR(landscape.OriginalX(112), 249, 1.5);
  for (int height = 1; height < 8192; height = height * 3 + 1) {
    for (int width = 1; width < 8192; width = width * 2 + 1) {
      const Geometry geometry = Plan(model, {height, width});
      EXPECT_EQ(geometry.input, (Size{224, 224}));
      EXPECT_TRUE(geometry.scaled.height == 224 || geometry.scaled.width == 224);
      EXPECT_GE(geometry.scaled.height, 224);
      EXPECT_GE(geometry.scaled.width, 224);
      EXPECT_LE(std::abs(2 * geometry.top + 224 - geometry.scaled.height), 1);
      EXPECT_LE(std::abs(2 * geometry.left + 224 - geometry.scaled.width), 1);
      EXPECT_LE(geometry.OriginalX(224), width);
      EXPECT_LE(geometry.OriginalY(224), height);
    }
  }
}

TEST(FixedGeometry, RefusesAWish) {
  EXPECT_THAT(Refusal(Fixed(28, 28, v1::FixedResolution::STRETCH), {100, 50}, Size{28, 28}), HasSubstr("28 x 28"));
}

TEST(PlanGeometry, RefusesAPictureWithoutPixels) {
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
