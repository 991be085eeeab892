// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_JSON_MEMBERS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_JSON_MEMBERS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

// Reads members of a model's JSON files, which may have any type.
namespace vitrine {

// Returns the member as text; "" if it is missing or no text.
inline std::string TextIn(const nlohmann::json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns the member as a number; nullopt if it is missing or no number.
inline std::optional<double> NumberIn(const nlohmann::json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_JSON_MEMBERS_H_
