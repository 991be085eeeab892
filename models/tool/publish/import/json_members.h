// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_JSON_MEMBERS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_JSON_MEMBERS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

// The functions read members of a model's JSON files. A member may have any type.
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

// Width and height of images. Both are 0 in a file that does not state them.
struct Side {
  double height = 0, width = 0;
  bool operator==(const Side&) const = default;
};

inline std::string InWords(const Side& side) {
  return absl::StrCat(side.height, "x", side.width);
}

// Reads 224, [224, 224] or {"height": 224, "width": 224}.
inline Side SideIn(const nlohmann::json& object, const char* member) {
  const auto found = object.find(member);
  if (found == object.end()) return {};
  if (found->is_number()) return {found->get<double>(), found->get<double>()};
  if (found->is_array() && found->size() == 2 && found->at(0).is_number() && found->at(1).is_number()) {
    return {found->at(0).get<double>(), found->at(1).get<double>()};
  }
  if (!found->is_object()) return {};
  return {NumberIn(*found, "height").value_or(0), NumberIn(*found, "width").value_or(0)};
}

// Returns the object that describes the image model in a config.json of transformers: for CLIP, the member
// vision_config; otherwise the whole config.
inline const nlohmann::json& VisionOf(const nlohmann::json& config) {
  const auto found = config.find("vision_config");
  return found != config.end() && found->is_object() ? *found : config;
}

// Returns the model_type of transformers' image model; CLIP is "clip" with and without its text tower.
inline std::string TypeIn(const nlohmann::json& config) {
  const std::string type = TextIn(config, "model_type");
  return type == "clip_vision_model" ? "clip" : type;
}

// Returns the name of the activation function (`hidden_act`) of the image model in a config.json of transformers. If
// the config has no name: "quick_gelu" for CLIP, "" for other models.
inline std::string ActivationIn(const nlohmann::json& config) {
  const std::string act = TextIn(VisionOf(config), "hidden_act");
  return act.empty() && TypeIn(config) == "clip" ? "quick_gelu" : act;
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_JSON_MEMBERS_H_
