// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/json_document.h"

#include <type_traits>

namespace vitrine {
namespace {

using nlohmann::json;

// The DOM builder of nlohmann::json with a depth limit. Records the position of an error.
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
  template <typename Exception>
  bool parse_error(size_t position, const std::string& /*token*/, const Exception& /*error*/) {
    wrong_byte_ = position;
    is_out_of_range_ = std::is_same_v<Exception, nlohmann::detail::out_of_range>;
    return false;
  }
  size_t wrong_byte() const { return wrong_byte_; }
  bool is_out_of_range() const { return is_out_of_range_; }

 private:
  size_t depth_ = 0;
  size_t wrong_byte_ = 0;
  bool is_out_of_range_ = false;
};

}  // namespace

bool JsonDocument::Parse(std::string_view text) {
  root = nullptr;
  Builder builder(root);
  const bool parsed = json::sax_parse(text.begin(), text.end(), &builder);
  wrong_byte_ = builder.wrong_byte();
  is_out_of_range_ = builder.is_out_of_range();
  return parsed;
}

}  // namespace vitrine
