// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/report/look.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/charts/distance_plot.h"
#include "common/charts/html/thumbnail.h"
#include "common/drawing/overlay.h"
#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"
#include "models/attention_maps.h"
#include "models/attention_request.h"
#include "trainer/watch/report/examine.h"

namespace vitrine {
namespace {

constexpr OverlayLook kLook = {.min_side = 160, .max_side = 240, .legend = false};
constexpr int kSmallSide = 96;  // larger images are not shown pixel by pixel

absl::StatusOr<std::vector<AttentionMap>> MapsOf(const Model& model, const InputImage& input,
                                                 const v1::AttentionRequest& request) {
  const AttentionAbility ability = model.attention();
  ASSIGN_OR_RETURN(const v1::AttentionRequest resolved, ResolveAttention(request, ability, input.grid));
  AttentionTap tap;
  RequestAttention(resolved, ability, 0, tap);
  RETURN_IF_ERROR(RunModel(model, {input.input}, &tap).status());
  return CollectAttention(resolved, ability, tap, 0, input.grid);
}

v1::Rectangle Covers(const Geometry& geometry) {
  v1::Rectangle covers;
  covers.set_left(geometry.OriginalX(0));
  covers.set_top(geometry.OriginalY(0));
  covers.set_width(geometry.OriginalX(static_cast<float>(geometry.input.width)) - covers.left());
  covers.set_height(geometry.OriginalY(static_cast<float>(geometry.input.height)) - covers.top());
  return covers;
}

// Encodes the image for a page. Large images are reduced.
absl::StatusOr<ImageCard::Tile> Original(const Image& image) {
  ASSIGN_OR_RETURN(const std::string png, EncodePng(Reduced(image, kLook.max_side)));
  const int side = std::max(image.width, image.height);
  return ImageCard::Tile{.uri = DataUri("image/png", png), .caption = "image", .pixels = side <= kSmallSide};
}

}  // namespace

const AttentionAbility::Offer* SpatialAttention(const AttentionAbility& ability) {
  for (const v1::AttentionKind kind : {v1::CLASS_ATTENTION, v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES}) {
    const AttentionAbility::Offer* offer = ability.Find(kind);
    if (offer != nullptr && offer->layers > 0) return offer;
  }
  return nullptr;
}

absl::StatusOr<std::vector<ImageCard::Tile>> LookAt(const Model& model, const Dataset& data, int64_t index,
                                                    std::optional<Size> size, int layers) {
  ASSIGN_OR_RETURN(const InputImage input, ReadInput(model, data, index, size));
  std::vector<ImageCard::Tile> images;
  ASSIGN_OR_RETURN(images.emplace_back(), Original(input.image));
  const AttentionAbility ability = model.attention();
  const AttentionAbility::Offer* offer = SpatialAttention(ability);
  if (offer == nullptr) return images;

  v1::AttentionRequest request;
  request.set_kind(offer->kind);
  std::set<int> chosen = {offer->layers - 1};
  for (int i = 0; i < layers && layers > 1; ++i) chosen.insert(i * (offer->layers - 1) / (layers - 1));
  for (const int layer : chosen) request.add_layers(layer);
  ASSIGN_OR_RETURN(const std::vector<AttentionMap> maps, MapsOf(model, input, request));
  for (const AttentionMap& map : maps) {
    // Each layer has its own colour range. With a common range, one high value would make all other layers black.
    const ColourRange range = AttentionRange(map.values, int64_t{map.rows} * map.columns, map.diverging);
    const SpatialMap spatial{.rows = map.rows,
                             .columns = map.columns,
                             .values = map.values,
                             .covers = Covers(input.geometry),
                             .range = range};
    ASSIGN_OR_RETURN(const std::string png, DrawOverlay(input.image, spatial, kLook));
    images.push_back(
        {.uri = DataUri("image/png", png), .caption = absl::StrCat("layer ", map.layer, ", ", range.InWords())});
  }
  return images;
}

absl::StatusOr<std::optional<Distances>> MeasureDistances(const Model& model, const Dataset& data,
                                                          std::optional<Size> size, int64_t most) {
  if (model.attention().Find(v1::DISTANCE) == nullptr) return std::nullopt;
  v1::AttentionRequest request;
  request.set_kind(v1::DISTANCE);
  Distances distances;
  std::set<std::pair<int, int>> grids;
  for (const int64_t index : Spread(data.size(), most)) {
    const absl::StatusOr<InputImage> input = ReadInput(model, data, index, size);
    if (!input.ok()) continue;  // skips an image that cannot be decoded
    ASSIGN_OR_RETURN(const std::vector<AttentionMap> maps, MapsOf(model, *input, request));
    const AttentionMap& map = maps.front();
    distances.layers = map.rows;
    distances.heads = map.columns;
    distances.pixels.resize(map.values.size());
    for (size_t j = 0; j < map.values.size(); ++j) distances.pixels[j] += map.values[j];
    ++distances.images;
    grids.insert({input->grid.rows, input->grid.columns});
  }
  if (distances.images == 0) return std::nullopt;
  for (double& pixels : distances.pixels) pixels /= static_cast<double>(distances.images);
  if (grids.size() == 1) {
    const double cell = model.cell();
    distances.uniform = UniformDistance(grids.begin()->first, grids.begin()->second, cell, cell);
  }
  return distances;
}

}  // namespace vitrine
