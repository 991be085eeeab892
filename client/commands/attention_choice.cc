// SPDX-License-Identifier: Apache-2.0
#include "client/commands/attention_choice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/commands/image_run.h"
#include "common/drawing/attention_words.h"
#include "common/imaging/geometry.h"
#include "common/imaging/header.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

std::string OffersOf(const v1::ModelVersion& model) {
  std::vector<std::string> names;
  for (const v1::AttentionOffer& offer : model.attention()) {
    names.push_back(AttentionKindName(offer.kind()));
    if (offer.kind() == v1::ROLLOUT) continue;
    absl::StrAppend(&names.back(), " (", offer.layers(), offer.layers() == 1 ? " layer, " : " layers, ", offer.heads(),
                    offer.heads() == 1 ? " head)" : " heads)");
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

bool Has(const v1::ModelVersion& model, v1::AttentionKind kind) {
  return std::ranges::find(model.attention_kinds(), static_cast<int>(kind)) != model.attention_kinds().end();
}

absl::StatusOr<std::vector<v1::AttentionKind>> ChooseKinds(const AttentionOptions& options,
                                                           const v1::ModelVersion& model) {
  RETURN_IF_ERROR(CheckLoaded(model));
  std::vector<v1::AttentionKind> kinds;
  for (const v1::AttentionKind kind : options.kinds) {
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  if (kinds.empty() && options.query.has_value()) kinds = {v1::QUERY_ROW};
  if (kinds.empty() && options.keep_class_mass) kinds = {v1::DISTANCE};
  for (const int number : model.attention_kinds()) {
    const auto kind = static_cast<v1::AttentionKind>(number);
    const bool wanted = kinds.empty() || (options.side_by_side && options.kinds.empty());
    if (wanted && IsSpatial(kind) && kind != v1::QUERY_ROW) kinds.push_back(kind);
  }
  if (kinds.empty() && !IsLookedUp(model)) {
    return absl::PermissionDeniedError(absl::StrCat("this caller may not look up the attention maps of model \"",
                                                    model.model(), "\"; name them with --attention"));
  }
  if (kinds.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model \"", model.model(), "\" has no attention map that lies on an image; ",
                     model.attention_kinds().empty() ? "leave out --out"
                                                     : absl::StrCat("with --attention it has: ", OffersOf(model))));
  }
  for (const v1::AttentionKind kind : kinds) {
    if (Has(model, kind) || !IsLookedUp(model)) continue;
    return absl::InvalidArgumentError(absl::StrCat("model \"", model.model(), "\" has no attention of kind ",
                                                   AttentionKindName(kind), "; it has: ", OffersOf(model)));
  }
  return kinds;
}

absl::Status CheckOptions(const AttentionOptions& options, const std::vector<v1::AttentionKind>& kinds) {
  const auto asked = [&](v1::AttentionKind kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  if (kinds == std::vector{v1::ROLLOUT} && !(options.layers.empty() && options.heads.empty())) {
    return absl::InvalidArgumentError("--attention rollout uses all layers and heads; leave out --layers and --heads");
  }
  if (options.query.has_value() && !asked(v1::QUERY_ROW)) {
    return absl::InvalidArgumentError("--query needs --attention query; add that kind");
  }
  if (options.keep_class_mass && !asked(v1::DISTANCE)) {
    return absl::InvalidArgumentError("--keep-class-mass needs --attention distance; add that kind");
  }
  return absl::OkStatus();
}

// Maximum number of layers or heads that a server may report.
constexpr int kMostNumbers = 4096;

// Returns distinct indices, counted from 0. `count`: number of layers or heads; 0: not known, so negative indices are
// kept.
absl::StatusOr<std::vector<int32_t>> Resolve(const Indices& given, bool all, int count, v1::AttentionKind kind,
                                             const v1::ModelVersion& model, const char* what) {
  std::vector<int32_t> numbers;
  if (count > kMostNumbers) {
    return absl::InvalidArgumentError(
        absl::StrCat("the server says that model \"", model.model(), "\" has ", count, " ", what, "s"));
  }
  if (given.all && !IsLookedUp(model)) {
    return absl::PermissionDeniedError(absl::StrCat("this caller may not look up the number of ", what, "s of model \"",
                                                    model.model(), "\"; give --", what, "s as numbers"));
  }
  if (given.all || (all && given.empty())) {
    for (int i = 0; i < count; ++i) numbers.push_back(i);
    return numbers;
  }
  for (const int32_t number : given.numbers) {
    const int32_t resolved = number < 0 && count > 0 ? number + count : number;
    if (count > 0 && (resolved < 0 || resolved >= count)) {
      return absl::InvalidArgumentError(absl::StrCat("model \"", model.model(), "\" has ", count, " ", what,
                                                     count == 1 ? "" : "s", " of kind ", AttentionKindName(kind),
                                                     ", 0 to ", count - 1, "; ", number, " is none of them"));
    }
    if (std::ranges::find(numbers, resolved) == numbers.end()) numbers.push_back(resolved);
  }
  return numbers;
}

// Returns the side of a token in pixels; 0: unknown.
int CellOf(const v1::ModelConfig& config) {
  if (config.preprocessing().has_native()) return config.preprocessing().native().cell();
  switch (config.family_case()) {
    case v1::ModelConfig::kVit:
      return config.vit().patch();
    case v1::ModelConfig::kEit:
      return config.eit().pool();
    case v1::ModelConfig::kKv:
      return config.kv().patch();
    case v1::ModelConfig::kXcit:
      return config.xcit().patch();
    case v1::ModelConfig::kXvit:
      return config.xvit().patch();
    default:
      return 0;
  }
}

}  // namespace

const v1::AttentionOffer* OfferOf(const v1::ModelVersion& model, v1::AttentionKind kind) {
  for (const v1::AttentionOffer& offer : model.attention()) {
    if (offer.kind() == kind) return &offer;
  }
  return nullptr;
}

bool HasSignedAttention(const v1::ModelConfig& config) {
  const v1::XVitConfig::Mixer mixer = config.xvit().mixer();
  return config.has_xvit() && mixer != v1::XVitConfig::SOFTMAX && mixer != v1::XVitConfig::XCA;
}

absl::StatusOr<std::vector<v1::AttentionRequest>> ChooseAttention(const AttentionOptions& options,
                                                                  const v1::ModelVersion& model) {
  std::vector<v1::AttentionRequest> requests;
  if (options.folder.empty()) return requests;
  ASSIGN_OR_RETURN(const std::vector<v1::AttentionKind> kinds, ChooseKinds(options, model));
  RETURN_IF_ERROR(CheckOptions(options, kinds));
  for (const v1::AttentionKind kind : kinds) {
    v1::AttentionRequest& request = requests.emplace_back();
    request.set_kind(kind);
    // Requests values and not overlays, because values need a thousandth of the bytes and the client can draw them over
    // the full original image.
    request.set_encoding(kind == v1::DISTANCE ? v1::FLOAT32 : v1::FLOAT16);
    if (kind == v1::ROLLOUT) continue;  // a rollout has no layers and heads
    const v1::AttentionOffer* offer = OfferOf(model, kind);
    const bool all = options.sheet || kind == v1::DISTANCE;
    ASSIGN_OR_RETURN(const std::vector<int32_t> layers,
                     Resolve(options.layers, all, offer == nullptr ? 0 : offer->layers(), kind, model, "layer"));
    ASSIGN_OR_RETURN(const std::vector<int32_t> heads,
                     Resolve(options.heads, all, offer == nullptr ? 0 : offer->heads(), kind, model, "head"));
    request.mutable_layers()->Add(layers.begin(), layers.end());
    request.mutable_heads()->Add(heads.begin(), heads.end());
    if (kind == v1::QUERY_ROW && options.query.has_value()) request.set_query(options.query->index);
    if (kind == v1::DISTANCE) request.set_keep_class_mass(options.keep_class_mass);
  }
  return requests;
}

absl::Status PlaceQuery(const QueryToken& query, const v1::ModelConfig& config, std::string_view encoded,
                        v1::ClassifyRequest& request) {
  if (!query.cell.has_value()) return absl::OkStatus();
  const auto [row, column] = *query.cell;
  const int cell = CellOf(config);
  if (cell < 1) return absl::InvalidArgumentError("this model's grid is unknown here; give --query as one number");
  ASSIGN_OR_RETURN(const ImageHeader header, ReadHeader(encoded));
  std::optional<Size> options;
  if (request.has_resolution()) options = {request.resolution().height(), request.resolution().width()};
  ASSIGN_OR_RETURN(const Geometry geometry,
                   PlanGeometry(config.preprocessing(), {.height = header.height, .width = header.width}, options));
  const int rows = geometry.input.height / cell, columns = geometry.input.width / cell;
  if (row >= rows || column >= columns) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row, ", column ", column, " is outside the image's grid of ",
                                                   rows, "x", columns, "; both count from 0"));
  }
  for (v1::AttentionRequest& attention : *request.mutable_attention()) {
    if (attention.kind() == v1::QUERY_ROW) attention.set_query(row * columns + column);
  }
  return absl::OkStatus();
}

absl::StatusOr<QueryToken> ParseQuery(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  std::vector<int> numbers;
  for (const absl::string_view part : parts) {
    int number = 0;
    if (absl::SimpleAtoi(part, &number) && number >= 0) numbers.push_back(number);
  }
  if (numbers.size() != parts.size() || numbers.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no patch; give ROW,COLUMN or its number, counted from 0, as in 3,4 or 17"));
  }
  QueryToken query;
  if (numbers.size() == 2) {
    query.cell = {numbers[0], numbers[1]};
  } else {
    query.index = numbers[0];
  }
  return query;
}

absl::StatusOr<Indices> ParseIndices(absl::string_view text) {
  if (text == "all") return Indices{.all = true};
  Indices indices;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int32_t number = 0;
    if (!absl::SimpleAtoi(part, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\" is no list; give numbers with commas between them, as in 0,-1, or all"));
    }
    indices.numbers.push_back(number);
  }
  return indices;
}

}  // namespace vitrine
