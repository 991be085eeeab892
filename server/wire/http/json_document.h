// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_
#define VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace vitrine {

// A JSON document that came from a client, or is written for one.
class JsonDocument {
 public:
  // Makes `text` the root. False if it is no JSON, or nested deeper than kMaxDepth; the root is anything then. Of
  // members with the same name the last one counts.
  static constexpr size_t kMaxDepth = 64;
  bool Parse(std::string_view text);
  // In one line. What is no UTF-8 is replaced.
  std::string Text() const { return TextOf(root); }
  static std::string TextOf(const nlohmann::json& value);

  nlohmann::json root;
};

// Adds the shortest decimal that is read as this float again; null where JSON has no number for it.
void AppendFloat(float value, std::string& text);

// Empty ones.
inline nlohmann::json JsonArray() {
  return nlohmann::json::array();
}
inline nlohmann::json JsonObject() {
  return nlohmann::json::object();
}
// A new last element of an array, null.
inline nlohmann::json& Append(nlohmann::json& array) {
  return array.get_ref<nlohmann::json::array_t&>().emplace_back();
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_
