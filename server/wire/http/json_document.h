// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_
#define VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace vitrine {

// JSON that costs its request alone where memory runs out: what needs some throws std::bad_alloc, and the end needs
// none. A plain nlohmann::json that holds anything asks for memory in its destructor, and ends the process if there is
// none. What is put into `root` must therefore be plain values and new JsonArray() and JsonObject(), filled where they
// are.
class JsonDocument {
 public:
  JsonDocument() = default;
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  // Makes `text` the root. False if it is no JSON, or nested deeper than kMaxDepth; the root is anything then.
  static constexpr size_t kMaxDepth = 64;
  bool Parse(std::string_view text);
  // In one line. What is no UTF-8 is replaced.
  std::string Text() const { return TextOf(root); }
  static std::string TextOf(const nlohmann::json& value);

  nlohmann::json root;
};

// Empty ones.
inline nlohmann::json JsonArray() {
  return nlohmann::json(nlohmann::json::value_t::array);
}
inline nlohmann::json JsonObject() {
  return nlohmann::json(nlohmann::json::value_t::object);
}
// A new last element of an array, null.
inline nlohmann::json& Append(nlohmann::json& array) {
  return array.get_ref<nlohmann::json::array_t&>().emplace_back();
}

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_JSON_DOCUMENT_H_
