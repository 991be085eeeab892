// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_
#define VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace vitrine {

// A JSON document that is received from a client or written for it.
class JsonDocument {
 public:
  // Parses `text` into the root. Returns false, and leaves the root unspecified, if the text is not JSON or is nested
  // deeper than kMaxDepth. If several members have the same name, the last of these members is used.
  static constexpr size_t kMaxDepth = 64;
  bool Parse(std::string_view text);
  // After Parse returned false: returns the position of the wrong byte, counted from 1; 0 if the text is nested too
  // deeply.
  size_t wrong_byte() const { return wrong_byte_; }
  // After Parse returned false: returns true if the reason is a number that exceeds the range of double.
  bool is_out_of_range() const { return is_out_of_range_; }
  // Return the document, or a json or ordered_json, on one line. Invalid UTF-8 is replaced.
  std::string Text() const { return TextOf(root); }
  template <typename Json>
  static std::string TextOf(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  nlohmann::json root;

 private:
  size_t wrong_byte_ = 0;
  bool is_out_of_range_ = false;
};

// Return an empty array and an empty object.
inline nlohmann::json JsonArray() {
  return nlohmann::json::array();
}
inline nlohmann::json JsonObject() {
  return nlohmann::json::object();
}
// Appends a null to an array. Returns a reference to the null.
inline nlohmann::json& Append(nlohmann::json& array) {
  return array.get_ref<nlohmann::json::array_t&>().emplace_back();
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_
