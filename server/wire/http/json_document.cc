// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/json_document.h"

#include <utility>
#include <vector>

namespace vitrine {
namespace {

using nlohmann::json;

// Leaves arrays and objects empty, which end without asking for memory.
void TakeApart(json& value) {
  if (value.is_array()) {
    auto& array = value.get_ref<json::array_t&>();
    for (json& each : array) TakeApart(each);
    array.clear();
  } else if (value.is_object()) {
    auto& object = value.get_ref<json::object_t&>();
    for (auto& [name, each] : object) TakeApart(each);
    object.clear();
  }
}

// Puts what the parser reads into a document. The library's own puts it into one that it may have to end.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(json& root) : root_(root) {}

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t&) override { return Put(value); }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(JsonObject()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(JsonArray()); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  bool key(string_t& name) override {
    member_ = &open_.back()->get_ref<json::object_t&>()[std::move(name)];
    TakeApart(*member_);  // the last of the same name counts
    return true;
  }

 private:
  json& Place() { return open_.empty() ? root_ : open_.back()->is_array() ? Append(*open_.back()) : *member_; }

  bool Put(json value) {
    Place() = std::move(value);
    return true;
  }

  bool Open(json empty) {
    if (open_.size() == JsonDocument::kMaxDepth) return false;
    json& place = Place();
    open_.push_back(&place);
    place = std::move(empty);
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  json& root_;
  std::vector<json*> open_;  // around the next value
  json* member_ = nullptr;   // where it goes in an object
};

}  // namespace

JsonDocument::~JsonDocument() {
  TakeApart(root);
}

bool JsonDocument::Parse(std::string_view text) {
  TakeApart(root);
  Builder builder(root);
  return json::sax_parse(text.begin(), text.end(), &builder);
}

std::string JsonDocument::TextOf(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace vitrine
