// SPDX-License-Identifier: Apache-2.0
#include "trainer/augment/sheet.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/drawing/sheet.h"
#include "common/status_macros.h"
#include "trainer/augment/input.h"
#include "trainer/augment/mixing.h"
#include "trainer/augment/repeats.h"
#include "trainer/augment/view.h"

namespace vitrine {
namespace {

// Converts a normalised input [channels, height, width] to an RGB image.
Image ImageOf(const at::Tensor& input, const v1::Preprocessing& preprocessing) {
  const auto channels = input.size(0), height = input.size(1), width = input.size(2);
  Image image{.width = static_cast<int>(width), .height = static_cast<int>(height), .channels = 3, .pixels = {}};
  image.pixels.resize(static_cast<size_t>(3 * height * width));
  const float* values = input.const_data_ptr<float>();
  for (int64_t i = 0; i < 3 * height * width; ++i) {
    const int channel = static_cast<int>(channels == 1 ? 0 : i % 3);
    const float value =
        values[channel * height * width + i / 3] * preprocessing.std(channel) + preprocessing.mean(channel);
    image.pixels[static_cast<size_t>(i)] = static_cast<uint8_t>(std::clamp(std::lround(value * 255), 0L, 255L));
  }
  return image;
}

Image AsRgb(const Image& image) {
  if (image.channels == 3) return image;
  Image rgb{.width = image.width, .height = image.height, .channels = 3, .pixels = {}};
  for (const uint8_t value : image.pixels) rgb.pixels.insert(rgb.pixels.end(), 3, value);
  return rgb;
}

// Returns a tile of at most `side` pixels; small images are enlarged by integer factors, so that their pixels are
// visible.
Image Tile(const Image& image, int side) {
  const int longest = std::max(image.width, image.height);
  if (longest > side) {
    const auto scaled = [&](int length) { return std::max(1, length * side / longest); };
    return Scaled(image, {scaled(image.height), scaled(image.width)}, v1::BILINEAR);
  }
  const int factor = side / longest;
  Image tile{.width = image.width * factor, .height = image.height * factor, .channels = 3, .pixels = {}};
  for (int y = 0; y < tile.height; ++y) {
    for (int x = 0; x < tile.width; ++x) {
      const uint8_t* from = &image.pixels[(size_t(y / factor) * image.width + x / factor) * 3];
      tile.pixels.insert(tile.pixels.end(), from, from + 3);
    }
  }
  return tile;
}

// Makes the batch of these images in one epoch, sorted by size. `places[i]` is the index of image i in the batch.
absl::StatusOr<TrainingBatch> DrawBatch(const std::vector<Image>& images, const std::vector<Member>& members,
                                        const v1::Recipe& recipe, const v1::Preprocessing& preprocessing, int64_t epoch,
                                        std::vector<size_t>& places) {
  std::vector<std::pair<TrainingInput, size_t>> inputs;
  for (size_t i = 0; i < images.size(); ++i) {
    CounterRandom random = RandomOf(recipe.seed(), epoch, members[i]);
    ASSIGN_OR_RETURN(TrainingInput input, DrawInput(images[i], recipe, preprocessing, random));
    inputs.emplace_back(std::move(input), i);
  }
  std::stable_sort(inputs.begin(), inputs.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.size.height, a.first.size.width) < std::pair(b.first.size.height, b.first.size.width);
  });
  TrainingBatch batch;
  batch.samples = static_cast<int64_t>(images.size());
  places.resize(images.size());
  for (const auto& [input, i] : inputs) {
    places[i] = batch.images.size();
    batch.images.push_back(at::empty({preprocessing.channels(), input.size.height, input.size.width}, at::kFloat));
    std::copy(input.values.begin(), input.values.end(), batch.images.back().data_ptr<float>());
  }
  if (Mixes(recipe.mixing())) {
    batch.labels = at::zeros({batch.samples}, at::kLong);  // not used: the sheet shows only images
    CounterRandom random = RandomOfBatch(recipe.seed(), epoch, 0);
    MixBatch(recipe.mixing(), /*label_smoothing=*/0, /*classes=*/1, random, batch);
  }
  return batch;
}

}  // namespace

absl::StatusOr<std::string> AugmentationSheet(const Dataset& dataset, const v1::Recipe& recipe,
                                              const v1::Preprocessing& preprocessing,
                                              const AugmentationSheetOptions& options) {
  std::vector<Member> members = MembersOf(recipe.seed(), /*epoch=*/0, dataset.size(), /*repeats=*/1);
  members.resize(std::min<size_t>(members.size(), options.images));
  SheetFigure figure{.title = absl::StrCat("Augmentation of images in ", recipe.name())};
  figure.note = "Left: the original image. Other columns: one random augmentation each.";
  if (Mixes(recipe.mixing())) figure.note += " A column is a batch; images of equal size are mixed.";
  std::vector<Image> images;
  for (const Member& member : members) {
    ASSIGN_OR_RETURN(images.emplace_back(), dataset.image(member.sample));
    figure.rows.push_back(dataset.labels()[dataset.label(member.sample)]);
  }
  figure.columns.push_back("image");
  for (int draw = 1; draw <= options.draws; ++draw) figure.columns.push_back(absl::StrCat("draw ", draw));
  const int side = SheetTileSide(static_cast<int>(figure.rows.size()), static_cast<int>(figure.columns.size()));
  figure.tiles.resize(figure.rows.size() * figure.columns.size());
  for (size_t row = 0; row < images.size(); ++row) {
    figure.tiles[row * figure.columns.size()] = Tile(AsRgb(images[row]), side);
  }
  for (int draw = 1; draw <= options.draws; ++draw) {
    std::vector<size_t> places;
    ASSIGN_OR_RETURN(const TrainingBatch batch, DrawBatch(images, members, recipe, preprocessing, draw, places));
    for (size_t row = 0; row < images.size(); ++row) {
      figure.tiles[row * figure.columns.size() + draw] = Tile(ImageOf(batch.images[places[row]], preprocessing), side);
    }
  }
  return DrawSheet(figure);
}

}  // namespace vitrine
