// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/answer_json.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/drawing/attention_words.h"

namespace vitrine {
namespace {

std::string FloatText(float value) {
  std::string text;
  AppendFloat(value, text);
  return text;
}

// Quotes text for JSON. Labels may contain invalid UTF-8, which is replaced.
std::string QuotedText(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// Returns "null" for -1, which means "all layers" or "mean over heads" in the API.
std::string NumberOrNull(int number) {
  return number < 0 ? "null" : absl::StrCat(number);
}

// Appends the rows of a FLOAT32 map, which is little-endian, like this machine.
void AppendRows(const v1::AttentionMap& map, std::string& text) {
  const char* at = map.values().data();
  text += '[';
  for (int row = 0; row < map.rows(); ++row) {
    text += row == 0 ? "[" : ",[";
    for (int column = 0; column < map.columns(); ++column, at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, at, sizeof(value));
      if (column > 0) text += ',';
      AppendFloat(value, text);
    }
    text += ']';
  }
  text += ']';
}

void AppendCovers(const v1::Rectangle& covers, std::string& text) {
  absl::StrAppend(&text, ",\"covers\":{\"left\":", FloatText(covers.left()), ",\"top\":", FloatText(covers.top()),
                  ",\"width\":", FloatText(covers.width()), ",\"height\":", FloatText(covers.height()), "}");
}

void AppendGrid(const v1::Grid& grid, std::string& text) {
  absl::StrAppend(&text, "\"grid\":{\"rows\":", grid.rows(), ",\"columns\":", grid.columns(),
                  ",\"input_height\":", grid.input_height(), ",\"input_width\":", grid.input_width(),
                  ",\"image_height\":", grid.image_height(), ",\"image_width\":", grid.image_width());
  if (grid.has_covers()) AppendCovers(grid.covers(), text);
  text += '}';
}

void AppendBatch(const v1::BatchInfo& batch, std::string& text) {
  absl::StrAppend(&text, "\"batch\":{\"images\":", batch.images(), ",\"tokens\":", batch.tokens(),
                  ",\"grids\":", batch.grids(), ",\"id\":", batch.id(), "}");
}

// Requires FEATURE_FLOAT32, which is little-endian, like this machine.
void AppendFeature(const v1::Feature& feature, const AnswerFiles& files, std::string& text) {
  absl::StrAppend(&text, "{\"kind\":\"", FeatureKindName(feature.kind()), "\",\"rows\":", feature.rows(),
                  ",\"columns\":", feature.columns(), ",\"width\":", feature.width(),
                  ",\"normalized\":", feature.normalized() ? "true" : "false");
  if (!files.features.empty()) absl::StrAppend(&text, ",\"file\":", QuotedText(files.features));
  if (files.row >= 0) absl::StrAppend(&text, ",\"row\":", files.row);
  for (size_t at = 0; at + sizeof(float) <= feature.values().size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, feature.values().data() + at, sizeof(value));
    text += at == 0 ? ",\"values\":[" : ",";
    AppendFloat(value, text);
  }
  text += feature.values().size() < sizeof(float) ? "}" : "]}";
}

// `file`: name of the map's drawing; may be empty.
void AppendMap(const v1::AttentionMap& map, const std::string& file, std::string& text) {
  absl::StrAppend(&text, "{\"kind\":\"", AttentionKindName(map.kind()), "\",\"layer\":", NumberOrNull(map.layer()),
                  ",\"head\":", NumberOrNull(map.head()), ",\"rows\":", map.rows(), ",\"columns\":", map.columns(),
                  ",\"diverging\":", map.diverging() ? "true" : "false");
  if (map.has_covers()) AppendCovers(map.covers(), text);
  if (!file.empty()) absl::StrAppend(&text, ",\"file\":", QuotedText(file));
  if (map.encoding() == v1::OVERLAY_PNG) {
    absl::StrAppend(&text, ",\"png\":\"", absl::Base64Escape(map.values()), "\"");
  } else if (!map.values().empty()) {
    text += ",\"values\":";
    AppendRows(map, text);
  }
  text += '}';
}

// Rounds to microseconds and returns milliseconds.
std::string Milliseconds(float seconds) {
  return FloatText(static_cast<float>(std::round(seconds * 1e6) / 1e3));
}

}  // namespace

std::string AnswerJson(const v1::ClassifyResponse& answer, const AnswerFiles& files) {
  const v1::ServedBy& served = answer.served_by();
  const v1::Timings& timings = answer.timings();
  std::string text = "{";
  if (!files.image.empty()) absl::StrAppend(&text, "\"image\":", QuotedText(files.image), ",");
  if (files.sent_as.has_value()) {
    absl::StrAppend(&text, "\"sent_as\":{\"width\":", files.sent_as->width, ",\"height\":", files.sent_as->height,
                    "},");
  }
  absl::StrAppend(&text, "\"model\":", QuotedText(served.model()), ",\"version\":", served.version(),
                  ",\"request_id\":", QuotedText(answer.request_id()), ",\"predictions\":");
  AppendPredictionsJson(answer, text);
  absl::StrAppend(
      &text, ",\"unsure\":", answer.unsure() ? "true" : "false",
      ",\"timings_ms\":{\"queue\":", Milliseconds(timings.queue()), ",\"decode\":", Milliseconds(timings.decode()),
      ",\"compute\":", Milliseconds(timings.compute()), ",\"encode\":", Milliseconds(timings.encode()),
      ",\"total\":", Milliseconds(timings.total()), "},\"served_by\":{\"precision\":", QuotedText(served.precision()),
      ",\"device\":", QuotedText(served.device()), ",\"weights_sha256\":", QuotedText(served.weights_sha256()), "},");
  AppendGrid(answer.grid(), text);
  text += ',';
  AppendBatch(answer.batch(), text);
  text += ",\"features\":[";
  for (int i = 0; i < answer.features_size(); ++i) {
    if (i > 0) text += ',';
    AppendFeature(answer.features(i), files, text);
  }
  // Attention comes last, because members after a long encoded image would be hard to find on a terminal.
  text += "],\"attention\":[";
  for (int i = 0; i < answer.attention_size(); ++i) {
    if (i > 0) text += ',';
    const auto at = static_cast<size_t>(i);
    AppendMap(answer.attention(i), at < files.attention.size() ? files.attention[at] : "", text);
  }
  text += "]}\n";
  return text;
}

void AppendPredictionsJson(const v1::ClassifyResponse& answer, std::string& text) {
  const char* between = "[";
  for (const v1::Prediction& prediction : answer.predictions()) {
    absl::StrAppend(&text, between, "{\"index\":", prediction.index(), ",\"label\":", QuotedText(prediction.label()),
                    ",\"probability\":", FloatText(prediction.probability()),
                    ",\"logit\":", FloatText(prediction.logit()), "}");
    between = ",";
  }
  absl::StrAppend(&text, answer.predictions().empty() ? "[" : "", "]");
}

void AppendFloat(float value, std::string& text) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

}  // namespace vitrine
