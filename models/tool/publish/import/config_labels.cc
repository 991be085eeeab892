// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/config_labels.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

using Json = nlohmann::json;
using Labels = std::vector<std::string>;

absl::Status Fault(const std::string& member, const std::string& fault) {
  return absl::FailedPreconditionError(absl::StrCat(member, " ", fault));
}

// Returns a label as text; labels may be integers, for instance digits.
std::optional<std::string> TextOf(const Json& label) {
  if (label.is_string()) return label.get<std::string>();
  if (label.is_number_integer()) return label.dump();
  return std::nullopt;
}

absl::StatusOr<Labels> FromList(const std::string& member, const Json& list) {
  Labels labels;
  for (const Json& label : list) {
    const std::optional<std::string> text = TextOf(label);
    if (!text.has_value())
      return Fault(member, absl::StrCat("has a label of class ", labels.size(), " that is not text"));
    labels.push_back(*text);
  }
  return labels;
}

// Collects labels by index. Requires every index from 0 on exactly once.
class Places {
 public:
  Places(std::string member, size_t classes) : member_(std::move(member)), labels_(classes), taken_(classes) {}

  absl::Status Put(const std::string& number, const Json& label) {
    int64_t place = 0;
    const std::optional<std::string> text = TextOf(label);
    if (!absl::SimpleAtoi(number, &place))
      return Fault(member_, absl::StrCat(Quoted(number), " is not a class number"));
    if (!text.has_value()) return Fault(member_, absl::StrCat("has a label of class ", place, " that is not text"));
    if (place < 0 || place >= static_cast<int64_t>(labels_.size()) || taken_[static_cast<size_t>(place)]) {
      return Fault(member_, absl::StrCat("has ", labels_.size(), " labels, but their numbers are not 0 to ",
                                         labels_.size() - 1, ": see ", place));
    }
    taken_[static_cast<size_t>(place)] = true;
    labels_[static_cast<size_t>(place)] = *text;
    return absl::OkStatus();
  }

  Labels Take() { return std::move(labels_); }

 private:
  const std::string member_;
  Labels labels_;
  std::vector<bool> taken_;
};

absl::StatusOr<Labels> FromNumbers(const std::string& member, const Json& names) {
  Places places(member, names.size());
  for (const auto& [number, label] : names.items()) RETURN_IF_ERROR(places.Put(number, label));
  return places.Take();
}

absl::StatusOr<Labels> FromNames(const std::string& member, const Json& numbers) {
  Places places(member, numbers.size());
  for (const auto& [label, number] : numbers.items()) {
    RETURN_IF_ERROR(places.Put(number.is_string() ? number.get<std::string>() : number.dump(), label));
  }
  return places.Take();
}

// Returns no labels for a value that is neither array nor object.
absl::StatusOr<Labels> FromMember(const std::string& member, const Json& value) {
  if (value.is_array()) return FromList(member, value);
  if (value.is_object()) return member == "label2id" ? FromNames(member, value) : FromNumbers(member, value);
  return Labels();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LabelsOfConfig(std::string_view json) {
  const Json config = Json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded()) return absl::FailedPreconditionError("it is not JSON");
  if (config.is_array()) return FromList("the list", config);
  if (!config.is_object()) return Labels();
  for (const Json* holder : {&config, config.contains("pretrained_cfg") ? &config["pretrained_cfg"] : nullptr}) {
    if (holder == nullptr || !holder->is_object()) continue;
    for (const char* member : {"label_names", "labels", "id2label", "label2id"}) {
      const auto found = holder->find(member);
      if (found == holder->end()) continue;
      ASSIGN_OR_RETURN(Labels labels, FromMember(member, *found));
      if (!labels.empty()) return labels;
    }
  }
  if (config.contains("0")) return FromNumbers("the object", config);
  return Labels();
}

}  // namespace vitrine
