// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/json_document.h"

namespace vitrine {
namespace {

using nlohmann::json;

// The library's DOM builder with a depth limit.
class Builder : public nlohmann::detail::json_sax_dom_parser<json> {
 public:
  explicit Builder(json& root) : json_sax_dom_parser(root, /*allow_exceptions_=*/false) {}

  bool start_object(size_t size) {
    return depth_++ < JsonDocument::kMaxDepth && json_sax_dom_parser::start_object(size);
  }
  bool start_array(size_t size) { return depth_++ < JsonDocument::kMaxDepth && json_sax_dom_parser::start_array(size); }
  bool end_object() {
    --depth_;
    return json_sax_dom_parser::end_object();
  }
  bool end_array() {
    --depth_;
    return json_sax_dom_parser::end_array();
  }

 private:
  size_t depth_ = 0;
};

}  // namespace

bool JsonDocument::Parse(std::string_view text) {
  root = nullptr;
  Builder builder(root);
  return json::sax_parse(text.begin(), text.end(), &builder);
}

std::string JsonDocument::TextOf(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace vitrine
