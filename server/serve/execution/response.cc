// SPDX-License-Identifier: Apache-2.0
#include "server/serve/execution/response.h"

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/colour_range.h"
#include "common/drawing/overlay.h"
#include "common/drawing/top_k.h"
#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"
#include "models/repository/manifest.h"
#include "server/serve/execution/attention_encoding.h"

namespace vitrine {
namespace {

void FillPredictions(const InferenceRequest& request, const std::vector<float>& logits,
                     v1::ClassifyResponse& response) {
  const std::vector<std::string>& labels = request.model->labels;
  const v1::Manifest& manifest = request.model->manifest;
  for (const ScoredClass& scored : TopK(logits, request.top_k, TemperatureOf(manifest))) {
    v1::Prediction& prediction = *response.add_predictions();
    prediction.set_index(scored.index);
    if (scored.index < static_cast<int>(labels.size())) prediction.set_label(labels[scored.index]);
    prediction.set_probability(scored.probability);
    prediction.set_logit(scored.logit);
  }
  response.set_unsure(response.predictions(0).probability() < manifest.calibration().unsure_below());
}

// Returns the part of the oriented original image that is visible in the model's input.
v1::Rectangle Covers(const Geometry& geometry) {
  v1::Rectangle covers;
  covers.set_left(geometry.OriginalX(0));
  covers.set_top(geometry.OriginalY(0));
  covers.set_width(geometry.OriginalX(geometry.input.width) - covers.left());
  covers.set_height(geometry.OriginalY(geometry.input.height) - covers.top());
  return covers;
}

void FillGrid(const InferenceRequest& request, v1::Grid& grid) {
  grid.set_rows(request.grid.rows);
  grid.set_columns(request.grid.columns);
  grid.set_input_height(request.geometry.input.height);
  grid.set_input_width(request.geometry.input.width);
  *grid.mutable_covers() = Covers(request.geometry);
  grid.set_image_height(request.geometry.original.height);
  grid.set_image_width(request.geometry.original.width);
}

void FillServedBy(const LoadedModel& model, v1::ServedBy& served_by) {
  served_by.set_model(model.id.model);
  served_by.set_version(model.id.version);
  served_by.set_weights_sha256(model.weights_sha256);
  served_by.set_precision(model.precision);
  served_by.set_device(model.device);
}

// A drawn overlay that is not compressed yet. After compression, its PNG file is stored in `map`.
struct Overlay {
  v1::AttentionMap* map = nullptr;
  Image image;
};

// The base image under an answer's maps, made when the first map is drawn.
class Ground {
 public:
  explicit Ground(const Image* image) : image_(image) {}

  absl::StatusOr<Image> Draw(const SpatialMap& map) {
    if (image_ == nullptr) return absl::InternalError("no image was kept for the overlay");
    if (!shown_.has_value()) {
      ASSIGN_OR_RETURN(shown_, ShownUnderMaps(*image_));
    }
    return ComposeOnShown(*shown_, {image_->height, image_->width}, map);
  }

 private:
  const Image* const image_;
  std::optional<Image> shown_;
};

// Fills the attention maps for one AttentionRequest. These maps share a colour range so that they can be compared.
absl::Status FillMaps(const v1::AttentionRequest& asked, const std::vector<AttentionMap>& maps, Ground& ground,
                      v1::ClassifyResponse& response, std::vector<Overlay>& overlays) {
  const bool draws = asked.encoding() == v1::OVERLAY_PNG;
  const v1::Rectangle& covers = response.grid().covers();
  ColourRange range;
  for (const AttentionMap& map : maps) {
    if (draws) range = Both(range, AttentionRange(map.values, int64_t{map.rows} * map.columns, map.diverging));
  }
  for (const AttentionMap& map : maps) {
    v1::AttentionMap& message = *response.add_attention();
    if (FormOf(map.kind) == AttentionForm::kGrid) *message.mutable_covers() = covers;
    if (!draws) {
      EncodeAttention(map, asked.encoding(), message);
      continue;
    }
    FillShape(map, asked.encoding(), message);
    const std::string caption =
        absl::StrCat(MapInWords(asked, response.grid().columns(), map.layer, map.head), "\n", AnswerInWords(response));
    const SpatialMap drawn{.rows = map.rows,
                           .columns = map.columns,
                           .values = map.values,
                           .covers = covers,
                           .marked = map.kind == v1::QUERY_ROW ? asked.query() : -1,
                           .range = range,
                           .caption = caption};
    ASSIGN_OR_RETURN(Image image, ground.Draw(drawn));
    overlays.push_back({&message, std::move(image)});
  }
  return absl::OkStatus();
}

// Divides each vector of `width` values by its Euclidean length; a zero vector stays unchanged.
void NormalizeVectors(std::span<float> values, size_t width) {
  for (; !values.empty(); values = values.subspan(width)) {
    const std::span<float> vector = values.first(width);
    double squares = 0;
    for (const float value : vector) squares += double{value} * value;
    if (squares == 0) continue;
    const double length = std::sqrt(squares);
    for (float& value : vector) value = static_cast<float>(value / length);
  }
}

// Fills the features of the answer. Returns their size in bytes.
int64_t FillFeatures(const InferenceRequest& request, const InferenceOutput& output, v1::ClassifyResponse& response) {
  int64_t bytes = 0;
  for (size_t entry = 0; entry < output.features.size(); ++entry) {
    const FeatureMap& map = output.features[entry];
    const v1::FeatureRequest& asked = request.features[entry];
    const v1::FeatureEncoding encoding = asked.encoding();
    std::vector<float> values = map.values;
    if (asked.normalize()) NormalizeVectors(values, static_cast<size_t>(map.width));
    v1::Feature& message = *response.add_features();
    message.set_kind(map.kind);
    message.set_rows(map.rows);
    message.set_columns(map.columns);
    message.set_width(map.width);
    message.set_encoding(encoding);
    message.set_normalized(asked.normalize());
    message.set_values(encoding == v1::FEATURE_FLOAT16 ? EncodeHalf(values) : EncodeFloat(values));
    bytes += static_cast<int64_t>(message.values().size());
  }
  return bytes;
}

absl::Status TooLarge(const std::string& what, int64_t allowed) {
  return absl::ResourceExhaustedError(absl::StrCat(what, ", but max_attention_bytes is ", allowed,
                                                   "; allow more (up to ", kMaxAttentionBytes,
                                                   "), or ask for fewer overlays"));
}

// Checks that all overlays will fit. Called when only the first overlay is compressed. EstimatePngBytes compresses an
// eighth of an overlay's rows. The total of its estimates is scaled by the real size of the first overlay, relative to
// the estimate for this overlay. For photographs, the error of the total is then at most a tenth.
absl::Status CheckRoom(const std::vector<Overlay>& overlays, int64_t first_bytes, int64_t room, int64_t allowed) {
  constexpr double kClearly = 1.1;
  size_t pixels = 0;
  for (const Overlay& overlay : overlays) pixels += overlay.image.pixels.size();
  if (static_cast<int64_t>(pixels) <= room) return absl::OkStatus();
  int64_t first = 0, all = 0;
  for (const Overlay& overlay : overlays) {
    ASSIGN_OR_RETURN(const int64_t bytes, EstimatePngBytes(overlay.image));
    if (all == 0) first = bytes;
    all += bytes;
  }
  const double estimate = static_cast<double>(all) * static_cast<double>(first_bytes) / static_cast<double>(first);
  if (estimate <= kClearly * static_cast<double>(room)) return absl::OkStatus();
  return TooLarge(
      absl::StrCat("the ", overlays.size(), " overlays would take about ", std::llround(estimate), " bytes"), allowed);
}

absl::Status CompressOverlays(std::vector<Overlay>& overlays, int64_t room, int64_t allowed) {
  int64_t bytes = 0;
  for (size_t i = 0; i < overlays.size(); ++i) {
    ASSIGN_OR_RETURN(std::string png, EncodePng(overlays[i].image));
    bytes += static_cast<int64_t>(png.size());
    overlays[i].map->set_values(std::move(png));
    if (bytes > room) {
      return TooLarge(absl::StrCat("attention and features take ", allowed - room + bytes, " bytes after ", i + 1,
                                   i == 0 ? " overlay" : " overlays"),
                      allowed);
    }
    if (i == 0 && overlays.size() > 1) RETURN_IF_ERROR(CheckRoom(overlays, bytes, room, allowed));
  }
  return absl::OkStatus();
}

// Fills the attention maps and features of the answer. Checks only the size of overlays, because PlanRequest has
// already checked the size of features and of maps without an overlay.
absl::Status FillAttentionAndFeatures(const InferenceRequest& request, const InferenceOutput& output,
                                      v1::ClassifyResponse& response) {
  const int64_t allowed = AttentionBytesAllowed(request.request);
  int64_t bytes = FillFeatures(request, output, response);
  std::vector<Overlay> overlays;
  Ground ground(output.image.get());
  for (size_t entry = 0; entry < output.attention.size(); ++entry) {
    RETURN_IF_ERROR(FillMaps(request.attention[entry], output.attention[entry], ground, response, overlays));
  }
  for (const v1::AttentionMap& map : response.attention()) bytes += static_cast<int64_t>(map.values().size());
  return CompressOverlays(overlays, allowed - bytes, allowed);
}

}  // namespace

absl::StatusOr<v1::ClassifyResponse> MakeResponse(const InferenceRequest& request, const InferenceOutput& output) {
  v1::ClassifyResponse response;
  if (request.top_k > 0) FillPredictions(request, output.logits, response);
  FillServedBy(*request.model, *response.mutable_served_by());
  FillGrid(request, *response.mutable_grid());
  RETURN_IF_ERROR(FillAttentionAndFeatures(request, output, response));
  *response.mutable_batch() = output.batch;
  response.set_request_id(request.request.request_id());
  *response.mutable_timings() = output.timings;
  if (request.overlay_pixels > 0) {
    RETURN_IF_ERROR(CheckMessageBytes(static_cast<int64_t>(response.ByteSizeLong()), request.most_message_bytes));
  }
  return response;
}

}  // namespace vitrine
