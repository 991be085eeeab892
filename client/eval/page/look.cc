// SPDX-License-Identifier: Apache-2.0
#include "client/eval/page/look.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/lib/numbers.h"
#include "common/charts/html/thumbnail.h"
#include "common/drawing/overlay.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int kSide = 176;  // pixels of the longer side on the page
constexpr OverlayLook kLook = {.min_side = 128, .max_side = kSide, .legend = false};

std::optional<v1::AttentionKind> BestKind(const v1::ModelVersion& model) {
  for (const v1::AttentionKind kind : {v1::CLASS_ATTENTION, v1::CLASS_TOKEN_ROW, v1::MEAN_OVER_QUERIES, v1::ROLLOUT}) {
    const auto& kinds = model.attention_kinds();
    if (std::ranges::find(kinds, static_cast<int>(kind)) != kinds.end()) return kind;
  }
  return std::nullopt;
}

std::string InWords(v1::AttentionKind kind) {
  switch (kind) {
    case v1::CLASS_ATTENTION:
      return "the class query's attention in the last layer, mean over heads";
    case v1::CLASS_TOKEN_ROW:
      return "the class token's attention in the last layer, mean over heads";
    case v1::MEAN_OVER_QUERIES:
      return "attention in the last layer, mean over queries and heads";
    default:
      return "attention rolled out over all layers";
  }
}

absl::StatusOr<ImageCard::Tile> Overlay(const Image& image, const v1::ClassifyResponse& answer) {
  if (answer.attention().empty()) return absl::InternalError("the server sent no attention");
  const v1::AttentionMap& map = answer.attention(0);
  ASSIGN_OR_RETURN(const std::vector<float> values, AttentionValues(map));
  const ColourRange range = AttentionRange(values, int64_t{map.rows()} * map.columns(), map.diverging());
  const SpatialMap spatial{
      .rows = map.rows(), .columns = map.columns(), .values = values, .covers = map.covers(), .range = range};
  ASSIGN_OR_RETURN(const Image overlay, ComposeOverlay(image, spatial, kLook));
  return Thumbnail(overlay, kSide, absl::StrCat("attention, ", range.InWords()));
}

// Returns true if the data set still has the prediction's image at its index. If a recorded name contains U+FFFD, some
// of its bytes were lost, so it matches any name.
bool Shows(const Dataset& data, const Prediction& prediction) {
  if (prediction.index < 0 || prediction.index >= data.size()) return false;
  return data.name(prediction.index) == prediction.name || prediction.name.find("\xEF\xBF\xBD") != std::string::npos;
}

// Stores the first fault in Looks::fault. Ignores later faults, because most of them are equal to the first.
class Faults {
 public:
  explicit Faults(Looks& looks) : looks_(looks) {}
  void Add(const std::string& what, const absl::Status& status) {
    if (looks_.fault.empty()) looks_.fault = absl::StrCat(what, ": ", std::string(status.message()));
  }

 private:
  Looks& looks_;
};

// Adds the attention maps of the images `indices` to `looks`. Each image was read before, but is read again here,
// because the images of all mistakes may be too large for the memory.
void AddAttention(const ImageSource& source, const std::vector<int64_t>& indices, Looks& looks) {
  Faults faults(looks);
  const std::optional<v1::AttentionKind> kind = BestKind(*source.model);
  if (!kind) {
    looks.fault = "The model has no attention map that lies on an image.";
    return;
  }
  if (source.client == nullptr) {
    looks.fault = "No server was available for the attention maps.";
    return;
  }
  const v1::ClassifyRequest common = AttentionRequestFor(source, *kind);
  size_t next = 0;
  const RequestSource requests = [&]() -> std::optional<absl::StatusOr<v1::ClassifyRequest>> {
    if (next == indices.size() || source.Stopping()) return std::nullopt;
    absl::StatusOr<std::string> encoded = source.data->encoded(indices[next++]);
    if (!encoded.ok()) return encoded.status();
    v1::ClassifyRequest request = common;
    request.set_image(*std::move(encoded));
    return request;
  };
  const ResultSink sink = [&](size_t i, absl::StatusOr<v1::ClassifyResponse> answer) {
    source.Tell("attention for the mistakes", static_cast<int64_t>(i) + 1, static_cast<int64_t>(indices.size()));
    if (looks.images[i].empty()) return;  // unreadable
    const absl::StatusOr<Image> image = answer.ok() ? source.data->image(indices[i]) : answer.status();
    const auto overlay = image.ok() ? Overlay(*image, *answer) : image.status();
    if (!overlay.ok()) return faults.Add("Attention is missing", overlay.status());
    looks.images[i].push_back(*overlay);
    looks.attention = InWords(*kind);
  };
  const absl::Status status = source.client->ClassifyMany(requests, sink);
  if (!status.ok()) faults.Add("Attention is missing", status);
  if (next < indices.size()) faults.Add("Attention is missing", absl::CancelledError("the run was stopped"));
}

}  // namespace

v1::ClassifyRequest AttentionRequestFor(const ImageSource& source, v1::AttentionKind kind) {
  v1::ClassifyRequest request;
  request.set_model(source.model->model());
  request.set_version(source.model->version());
  request.set_omit_predictions(true);
  request.set_priority(v1::LOW);
  request.add_attention()->set_kind(kind);
  if (const auto requested = ResolutionOf(source.resolution)) *request.mutable_resolution() = *requested;
  return request;
}

Looks LookAt(const ImageSource& source, const std::vector<const Prediction*>& predictions) {
  Looks looks;
  looks.images.resize(predictions.size());
  if (source.data == nullptr) {
    looks.fault = "The data set was not found, so its images are not shown.";
    return looks;
  }
  Faults faults(looks);
  std::vector<int64_t> indices;
  for (size_t i = 0; i < predictions.size(); ++i) {
    indices.push_back(predictions[i]->index);
    if (!Shows(*source.data, *predictions[i])) {
      looks.fault = "The data set differs from the evaluated one.";
      looks.images.assign(predictions.size(), {});
      return looks;
    }
    const absl::StatusOr<Image> image = source.data->image(indices[i]);
    const auto thumbnail = image.ok() ? Thumbnail(*image, kSide, "image") : image.status();
    if (!thumbnail.ok()) {
      faults.Add("An image is missing", thumbnail.status());
      continue;
    }
    looks.images[i].push_back(*thumbnail);
  }
  if (source.model != nullptr && !indices.empty()) AddAttention(source, indices, looks);
  return looks;
}

std::vector<int64_t> EvenlySpread(const std::vector<int64_t>& of, int64_t most) {
  const int64_t all = static_cast<int64_t>(of.size()), count = std::min(all, most);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < count; ++i) chosen.push_back(of[static_cast<size_t>((2 * i + 1) * all / (2 * count))]);
  return chosen;
}

std::optional<v1::ResolutionWish> ResolutionOf(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> parts = absl::StrSplit(text, 'x');
  int height = 0, width = 0;
  if (parts.size() > 2 || !absl::SimpleAtoi(parts.front(), &height) || !absl::SimpleAtoi(parts.back(), &width)) {
    return std::nullopt;
  }
  v1::ResolutionWish requested;
  requested.set_height(height);
  requested.set_width(width);
  return requested;
}

}  // namespace vitrine
