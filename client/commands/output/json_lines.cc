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
#include "common/drawing/licence_words.h"

namespace vitrine {
namespace {

// JSON with members in insertion order, and floats in their shortest form.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, float>;

std::string JsonLine(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

// Encodes the values as FLOAT32, or clears them if they are invalid.
void EncodeAsFloats(v1::AttentionMap& map) {
  const absl::StatusOr<std::vector<float>> values = AttentionValues(map);
  map.set_encoding(v1::FLOAT32);
  map.clear_values();
  if (values.ok()) map.set_values(values->data(), values->size() * sizeof(float));
}

void EncodeAsFloats(v1::Feature& feature) {
  if (feature.encoding() != v1::FEATURE_FLOAT16) return;
  const absl::StatusOr<std::vector<float>> values = FeatureValues(feature);
  feature.set_encoding(v1::FEATURE_FLOAT32);
  feature.clear_values();
  if (values.ok()) feature.set_values(values->data(), values->size() * sizeof(float));
}

}  // namespace

std::string AnswerLine(v1::ClassifyResponse answer, AnswerFiles files) {
  for (int i = 0; i < answer.attention_size(); ++i) {
    v1::AttentionMap& map = *answer.mutable_attention(i);
    if (static_cast<size_t>(i) < files.attention.size() && map.kind() != v1::DISTANCE) map.clear_values();
    EncodeAsFloats(map);
  }
  for (v1::Feature& feature : *answer.mutable_features()) {
    if (!files.features.empty()) feature.clear_values();
    EncodeAsFloats(feature);
  }
  files.image = EscapedBytes(files.image);
  files.features = EscapedBytes(files.features);
  for (std::string& file : files.attention) file = EscapedBytes(file);
  return AnswerJson(answer, files);
}

std::string FailureLine(const std::string& image, const absl::Status& why) {
  return JsonLine(
      {{"image", EscapedBytes(image)}, {"error", why.message()}, {"code", absl::StatusCodeToString(why.code())}});
}

std::string FeatureOrigin(const v1::ServedBy& by, const FeatureSummary& features) {
  const Json json = {{"model", by.model()},
                     {"version", by.version()},
                     {"weights_sha256", by.weights_sha256()},
                     {"kind", FeatureKindName(features.kind)},
                     {"width", features.width},
                     {"normalized", features.normalized},
                     {"pictures", features.images}};
  return JsonLine(json);
}

namespace {

// Converts a message to JSON with its proto field names, without default values. NaN and infinity become strings.
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
  json["licence"] = LicenceOf(version.provenance());
  // The version in a ModelEvent has no labels and no traffic share.
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
