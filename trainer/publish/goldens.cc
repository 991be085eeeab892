// SPDX-License-Identifier: Apache-2.0
#include "trainer/publish/goldens.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/charts/html/thumbnail.h"
#include "common/imaging/decode_input.h"
#include "common/imaging/encode/encode_png.h"
#include "common/imaging/preprocess.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "trainer/evaluate.h"
#include "trainer/patterns.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

constexpr int kMostTileSide = 256;

FloatArray ArrayOf(std::vector<float> input, const v1::Preprocessing& preprocessing, const Geometry& geometry) {
  return {.shape = {preprocessing.channels(), geometry.input.height, geometry.input.width}, .values = std::move(input)};
}

absl::StatusOr<FloatArray> EncodedToInput(std::string_view bytes, const v1::Preprocessing& preprocessing) {
  ASSIGN_OR_RETURN(PlannedInput planned, PlanAndDecodeInput(bytes, preprocessing));
  return ArrayOf(std::move(planned.values), preprocessing, planned.geometry);
}

// Joins six images into a grid. The grid is larger than an image, so the golden also tests the resize. Large images are
// reduced first, so that the grid stays far below the decoder's size limit.
absl::StatusOr<Image> Mosaic(const Dataset& data) {
  constexpr int kColumns = 3, kRows = 2;
  ASSIGN_OR_RETURN(const Image large, data.image(0));
  const Image first = Reduced(large, kMostTileSide);
  Image mosaic{
      .width = first.width * kColumns, .height = first.height * kRows, .channels = first.channels, .pixels = {}};
  mosaic.pixels.resize(size_t(mosaic.width) * mosaic.height * mosaic.channels);
  const size_t row_bytes = size_t(first.width) * first.channels;
  for (int tile = 0; tile < kColumns * kRows; ++tile) {
    ASSIGN_OR_RETURN(const Image whole, data.image(tile * 7919 % data.size()));
    const Image image = Reduced(whole, kMostTileSide);
    // An image of another size is replaced by the first image.
    const bool fits = image.width == first.width && image.height == first.height && image.channels == first.channels;
    const Image& source = fits ? image : first;
    for (int y = 0; y < first.height; ++y) {
      const size_t to_row = size_t(tile / kColumns) * first.height + y;
      std::copy_n(&source.pixels[y * row_bytes], row_bytes,
                  &mosaic.pixels[(to_row * kColumns + tile % kColumns) * row_bytes]);
    }
  }
  return mosaic;
}

}  // namespace

absl::StatusOr<Safetensors> MakeGoldens(const v1::Recipe& recipe, const Model& model, const Dataset& test,
                                        GoldenImages images) {
  if (images == GoldenImages::kSynthetic) {
    ASSIGN_OR_RETURN(const Image first, test.image(0));
    const Image size = Reduced(first, kMostTileSide);
    const std::unique_ptr<Dataset> patterns = MakePatterns({size.height, size.width}, first.channels);
    return MakeGoldens(recipe, model, *patterns, GoldenImages::kTest);
  }
  const v1::Preprocessing& preprocessing = model.config().preprocessing();
  Safetensors golden;
  int next = 0;
  ASSIGN_OR_RETURN(const auto sizes, EvaluationSizes(recipe));
  for (const std::optional<Size>& size : sizes) {
    // Uses two images that are far apart, so that their classes differ if the set is sorted by class.
    for (const int64_t index : {test.size() / 7, test.size() * 5 / 7}) {
      ASSIGN_OR_RETURN(const PlannedImage image, ReadForEvaluation(test, index, preprocessing, size));
      golden.tensors[absl::StrCat("input.", next++)] =
          StoredOf(ArrayOf(Preprocess(image.image, preprocessing, image.geometry), preprocessing, image.geometry));
    }
  }
  ASSIGN_OR_RETURN(const std::string file, test.encoded(test.size() / 3));
  golden.tensors[absl::StrCat("picture.", next++)] = StoredBytes(file);
  ASSIGN_OR_RETURN(const Image mosaic, Mosaic(test));
  ASSIGN_OR_RETURN(const std::string png, EncodePng(mosaic));
  golden.tensors[absl::StrCat("picture.", next++)] = StoredBytes(png);
  RETURN_IF_ERROR(RecordGolden(model, ForwardOf(model), EncodedToInput, golden));
  return golden;
}

}  // namespace vitrine
