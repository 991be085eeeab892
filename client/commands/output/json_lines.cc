// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/json_lines.h"

#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "client/commands/output/names.h"
#include "client/lib/numbers.h"
#include "common/data/file_names.h"
#include "common/drawing/attention_words.h"
#include "common/drawing/input_words.h"

namespace vitrine {
namespace {

// JSON with members in insertion order, and floats in their shortest form.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, float>;

std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

// Converts the contract's -1 for "all layers" and "mean over heads" to null.
Json IndexOrNull(int index) {
  return index < 0 ? Json() : Json(index);
}

Json Covers(const v1::Rectangle& covers) {
  return {{"left", covers.left()}, {"top", covers.top()}, {"width", covers.width()}, {"height", covers.height()}};
}

Json Predictions(const v1::ClassifyResponse& answer) {
  Json result = Json::array();
  for (const v1::Prediction& prediction : answer.predictions()) {
    result.push_back({{"index", prediction.index()},
                      {"label", prediction.label()},
                      {"probability", prediction.probability()},
                      {"logit", prediction.logit()}});
  }
  return result;
}

// Returns a row per layer with a number per head; null if the answer's bytes are invalid.
Json Distances(const v1::AttentionMap& map) {
  const absl::StatusOr<std::vector<float>> values = AttentionValues(map);
  if (!values.ok()) return Json();
  Json rows = Json::array();
  for (auto row = values->begin(); row != values->end(); row += map.columns()) {
    rows.push_back(std::vector<float>(row, row + map.columns()));
  }
  return rows;
}

Json Attention(const v1::ClassifyResponse& answer, const std::vector<std::string>& files) {
  Json result = Json::array();
  for (int i = 0; i < answer.attention_size(); ++i) {
    const v1::AttentionMap& map = answer.attention(i);
    Json entry = {{"kind", AttentionKindName(map.kind())},
                  {"layer", IndexOrNull(map.layer())},
                  {"head", IndexOrNull(map.head())},
                  {"rows", map.rows()},
                  {"columns", map.columns()},
                  {"diverging", map.diverging()}};
    if (map.kind() == v1::DISTANCE) entry["distances"] = Distances(map);
    if (static_cast<size_t>(i) < files.size()) entry["file"] = EscapedBytes(files[static_cast<size_t>(i)]);
    if (map.has_covers()) entry["covers"] = Covers(map.covers());
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace

std::string ClassificationLine(const std::string& picture, const v1::ClassifyResponse& answer,
                               const std::vector<std::string>& files, const std::optional<Size>& sent_as) {
  const v1::Grid& grid = answer.grid();
  const v1::Timings& timings = answer.timings();
  Json json;
  json["image"] = EscapedBytes(picture);
  json["model"] = answer.served_by().model();
  json["version"] = answer.served_by().version();
  json["predictions"] = Predictions(answer);
  json["unsure"] = answer.unsure();
  json["attention"] = Attention(answer, files);
  json["grid"] = {{"rows", grid.rows()},
                  {"columns", grid.columns()},
                  {"input_height", grid.input_height()},
                  {"input_width", grid.input_width()},
                  {"image_height", grid.image_height()},
                  {"image_width", grid.image_width()},
                  {"covers", Covers(grid.covers())}};
  if (sent_as.has_value()) json["sent_as"] = {{"width", sent_as->width}, {"height", sent_as->height}};
  json["batch"] = {{"id", answer.batch().id()},
                   {"images", answer.batch().images()},
                   {"tokens", answer.batch().tokens()},
                   {"grids", answer.batch().grids()}};
  json["timings"] = {{"queue", timings.queue()},
                     {"decode", timings.decode()},
                     {"compute", timings.compute()},
                     {"encode", timings.encode()},
                     {"total", timings.total()}};
  json["precision"] = answer.served_by().precision();
  json["device"] = answer.served_by().device();
  json["weights_sha256"] = answer.served_by().weights_sha256();
  return JsonLine(json);
}

std::string FailureLine(const std::string& picture, const absl::Status& why) {
  return JsonLine({{"image", EscapedBytes(picture)},
                   {"error", {{"code", absl::StatusCodeToString(why.code())}, {"message", why.message()}}}});
}

std::string FeatureLine(const std::string& picture, const v1::ClassifyResponse& answer, const v1::Feature& feature,
                        const std::vector<float>& values, const FeatureLinePlace& place) {
  Json json;
  json["image"] = EscapedBytes(picture);
  json["model"] = answer.served_by().model();
  json["version"] = answer.served_by().version();
  json["kind"] = FeatureKindName(feature.kind());
  json["rows"] = feature.rows();
  json["columns"] = feature.columns();
  json["width"] = feature.width();
  json["normalized"] = feature.normalized();
  if (place.file.empty()) {
    json["values"] = values;
  } else {
    json["file"] = EscapedBytes(place.file);
    if (place.row >= 0) json["row"] = place.row;
  }
  json["weights_sha256"] = answer.served_by().weights_sha256();
  return JsonLine(json);
}

std::string FeatureOrigin(const v1::ServedBy& by, const FeatureSummary& features) {
  const Json json = {{"model", by.model()},
                     {"version", by.version()},
                     {"weights_sha256", by.weights_sha256()},
                     {"kind", FeatureKindName(features.kind)},
                     {"width", features.width},
                     {"normalized", features.normalized},
                     {"pictures", features.pictures}};
  return JsonLine(json);
}

bool IsSameOrigin(const std::string& a, const std::string& b) {
  const auto parse = [](const std::string& text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); };
  const Json of_a = parse(a), of_b = parse(b);
  if (!of_a.is_object() || !of_b.is_object()) return false;
  const auto is_equal = [&](const char* key) { return of_a.value(key, Json()) == of_b.value(key, Json()); };
  return is_equal("weights_sha256") && is_equal("kind") && is_equal("normalized");
}

namespace {

// Converts a message with its proto field names, without default values. NaN and infinity become strings.
Json MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text, options).ok()) return Json();
  return Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
}

void AddModel(const v1::ModelVersion& version, Json& json) {
  Json metrics = Json::array();
  for (const v1::Metric& metric : version.provenance().metrics()) {
    metrics.push_back({{"name", metric.name()},
                       {"split", metric.split()},
                       {"value", static_cast<float>(metric.value())},
                       {"images", metric.images()}});
  }
  Json kinds = Json::array();
  for (const int kind : version.attention_kinds()) {
    kinds.push_back(AttentionKindName(static_cast<v1::AttentionKind>(kind)));
  }
  Json offers = Json::array();
  for (const v1::AttentionOffer& offer : version.attention()) {
    offers.push_back({{"kind", AttentionKindName(offer.kind())}, {"layers", offer.layers()}, {"heads", offer.heads()}});
  }
  Json features = Json::array();
  for (const int kind : version.feature_kinds())
    features.push_back(FeatureKindName(static_cast<v1::FeatureKind>(kind)));
  json["model"] = version.model();
  json["version"] = version.version();
  json["state"] = ModelStateName(version.state());
  json["reason"] = version.reason();
  json["input"] = InputDescription(version.config());
  json["parameters"] = version.parameters();
  json["classes"] = version.config().classes();
  json["metrics"] = std::move(metrics);
  json["attention_kinds"] = std::move(kinds);
  json["attention"] = std::move(offers);
  json["features"] = std::move(features);
  json["feature_width"] = version.feature_width();
  json["layers"] = version.layers();
  json["heads"] = version.heads();
  json["device_bytes"] = version.device_bytes();
  json["weights_sha256"] = version.weights_sha256();
  json["data"] = version.provenance().data();
  json["recipe"] = version.provenance().recipe();
  // Events and older servers do not report them.
  if (!version.version_labels().empty() || version.traffic_percent() > 0) {
    json["version_labels"] = std::vector<std::string>(version.version_labels().begin(), version.version_labels().end());
    json["traffic_percent"] = version.traffic_percent();
  }
}

}  // namespace

std::string ModelLine(const v1::ModelVersion& version) {
  Json json;
  AddModel(version, json);
  return JsonLine(json);
}

std::string ModelDetailLine(const v1::ModelVersion& version) {
  Json json;
  AddModel(version, json);
  json["labels"] = std::vector<std::string>(version.labels().begin(), version.labels().end());
  json["config"] = MessageJson(version.config());
  json["provenance"] = MessageJson(version.provenance());
  if (version.has_calibration()) json["calibration"] = MessageJson(version.calibration());
  if (version.has_batching()) json["batching"] = MessageJson(version.batching());
  return JsonLine(json);
}

std::string ModelEventLine(const v1::ModelEvent& event, absl::Time time) {
  Json json;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
  json["removed"] = event.removed();
  AddModel(event.version(), json);
  return JsonLine(json);
}

}  // namespace vitrine
