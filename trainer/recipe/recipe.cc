// SPDX-License-Identifier: Apache-2.0
#include "trainer/recipe/recipe.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/byte_order_mark.h"
#include "common/first_error.h"
#include "common/status_macros.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

constexpr int kMostBases = 4;

absl::Status MergeText(const std::string& text, const std::string& source, Message& message) {
  FirstError error;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.MergeFromString(text, &message)) return absl::OkStatus();
  // A parser that fails has reported an error, so error.message() is not empty.
  return absl::InvalidArgumentError(absl::StrCat(source, ": ", error.message()));
}

std::string FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return absl::StrJoin(names, ", ");
}

absl::StatusOr<const FieldDescriptor*> FieldNamed(const std::string& name, const Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  const FieldDescriptor* field = type.FindFieldByName(name);
  if (field != nullptr) return field;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no field \"", name, "\" in ", type.name(), "; it has ", FieldNames(type)));
}

// Returns the values of an enum except the unspecified one.
std::string ValueNames(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return absl::StrJoin(names, ", ");
}

// Returns true if the field is an enum and `value` is a name that the enum lacks. The caller then lists the valid
// names, because the parser's error does not list them.
bool IsUnknownValue(const FieldDescriptor& field, const std::string& value) {
  int number = 0;
  return field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM && !value.starts_with('[') &&
         field.enum_type()->FindValueByName(value) == nullptr && !absl::SimpleAtoi(value, &number);
}

absl::Status SetField(const FieldDescriptor& field, const std::string& value, Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const bool is_string = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (field.is_repeated()) {
    reflection.ClearField(&message, &field);
    const bool is_list = value.starts_with('[');
    if (!is_list && !is_string && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return SetField(field, absl::StrCat("[", value, "]"), message);
    }
    if (is_string && !is_list) {
      for (const absl::string_view part : absl::StrSplit(value, ',', absl::SkipWhitespace())) {
        reflection.AddString(&message, &field, std::string(part));
      }
      return absl::OkStatus();
    }
  } else if (IsUnknownValue(field, value)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", field.name(), "=", value, "\": there is no such ",
                                                   field.name(), "; allowed: ", ValueNames(*field.enum_type())));
  } else if (is_string) {
    reflection.SetString(&message, &field, value);
    return absl::OkStatus();
  } else {
    reflection.ClearField(&message, &field);
  }
  return MergeText(absl::StrCat(field.name(), ": ", value), absl::StrCat("\"", field.name(), "=", value, "\""),
                   message);
}

bool IsSet(const FieldDescriptor& field, const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  return field.is_repeated() ? reflection.FieldSize(message, &field) > 0 : reflection.HasField(message, &field);
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // An empty file is checked separately, because operator<< would report it as a failure.
  const bool is_read = in && (in.peek() == EOF ? !in.bad() : static_cast<bool>(text << in.rdbuf()));
  if (!is_read) return absl::NotFoundError(absl::StrCat(path, " cannot be read"));
  return std::string(WithoutByteOrderMark(std::move(text).str()));
}

absl::StatusOr<std::string> FindText(const std::string& name_or_path) {
  if (name_or_path.find_first_of("/.") != std::string::npos) return ReadText(name_or_path);
  std::vector<std::string> names;
  for (const BundledRecipe& bundled : BundledRecipes()) {
    if (bundled.name == name_or_path) return std::string(bundled.text);
    names.emplace_back(bundled.name);
  }
  return absl::NotFoundError(absl::StrCat("there is no recipe \"", name_or_path, "\"; bundled are ",
                                          absl::StrJoin(names, ", "), "; give a file by its path"));
}

// Returns a recipe; fields that it does not set are taken from its base. `bases` is the maximum number of bases in a
// chain.
absl::StatusOr<v1::Recipe> FindOverBases(const std::string& name_or_path, int bases) {
  ASSIGN_OR_RETURN(const std::string text, FindText(name_or_path));
  v1::Recipe own;
  RETURN_IF_ERROR(MergeText(text, name_or_path, own));
  if (own.base().empty()) return own;
  if (bases == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_or_path, ": more than ", kMostBases, " recipes in a row have a base"));
  }
  absl::StatusOr<v1::Recipe> base = FindOverBases(own.base(), bases - 1);
  if (!base.ok()) return absl::InvalidArgumentError(absl::StrCat(name_or_path, ": base: ", base.status().message()));
  v1::Recipe recipe = *std::move(base);
  ClearReplacedLists(own, recipe);
  // Parses the text again instead of merging `own`, so that a zero or false in the text replaces the base's value.
  RETURN_IF_ERROR(MergeText(text, name_or_path, recipe));
  recipe.clear_base();
  return recipe;
}

}  // namespace

absl::StatusOr<v1::Recipe> FindRecipe(const std::string& name_or_path) {
  return FindOverBases(name_or_path, kMostBases);
}

absl::Status ApplyOverride(const std::string& assignment, v1::Recipe& recipe) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", assignment, "\" has no '='; write path=value, for instance optimizer.lr=5e-4"));
  }
  const std::vector<std::string> path = absl::StrSplit(assignment.substr(0, equals), '.');
  if (path.front() == "base") return absl::InvalidArgumentError("base can be set only in the file of a recipe");
  Message* message = &recipe;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    ASSIGN_OR_RETURN(const FieldDescriptor* field, FieldNamed(path[i], *message));
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", path[i], "\" has no field \"", path[i + 1], "\": it is not a single message"));
    }
    message = message->GetReflection()->MutableMessage(message, field);
  }
  ASSIGN_OR_RETURN(const FieldDescriptor* field, FieldNamed(path.back(), *message));
  const bool was_set = IsSet(*field, *message);
  RETURN_IF_ERROR(SetField(*field, assignment.substr(equals + 1), *message));
  // Overrides are merged into the model's config. A merge ignores a zero in a field without presence, so such an
  // override is rejected.
  if (!was_set && !IsSet(*field, *message) && std::ranges::find(path, "model_overrides") != path.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", assignment, "\" changes nothing: with this value the model keeps its own ", path.back()));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Recipe> OverriddenRecipe(const std::string& name_or_path,
                                            const std::vector<std::string>& overrides) {
  ASSIGN_OR_RETURN(v1::Recipe recipe, FindRecipe(name_or_path));
  for (const std::string& assignment : overrides) RETURN_IF_ERROR(ApplyOverride(assignment, recipe));
  return recipe;
}

absl::StatusOr<v1::Recipe> ReadRecipe(const std::string& name_or_path, const std::vector<std::string>& overrides) {
  ASSIGN_OR_RETURN(v1::Recipe recipe, OverriddenRecipe(name_or_path, overrides));
  RETURN_IF_ERROR(ValidateRecipe(recipe));
  return recipe;
}

void ClearReplacedLists(const Message& from, Message& to) {
  std::vector<const FieldDescriptor*> set;
  from.GetReflection()->ListFields(from, &set);
  for (const FieldDescriptor* field : set) {
    if (field->is_repeated()) {
      to.GetReflection()->ClearField(&to, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && to.GetReflection()->HasField(to, field)) {
      ClearReplacedLists(from.GetReflection()->GetMessage(from, field),
                         *to.GetReflection()->MutableMessage(&to, field));
    }
  }
}

void OverrideModel(const v1::Recipe& recipe, v1::ModelConfig& config) {
  ClearReplacedLists(recipe.model_overrides(), config);
  config.MergeFrom(recipe.model_overrides());
}

absl::StatusOr<v1::ModelConfig> ConfigOf(const v1::Recipe& recipe) {
  ASSIGN_OR_RETURN(const ZooRow row, FindVariant(recipe.model()));
  v1::ModelConfig config = row.config;
  OverrideModel(recipe, config);
  return config;
}

void SetDropping(const v1::Recipe& recipe, ForwardContext& context) {
  const v1::DropoutRates& rates = recipe.dropouts();
  context.dropout = DropRates::Uniform(recipe.dropout());
  if (rates.has_position()) context.dropout.position = rates.position();
  if (rates.has_projection()) context.dropout.projection = rates.projection();
  if (rates.has_mlp()) context.dropout.mlp = rates.mlp();
  if (rates.has_attention()) context.dropout.attention = rates.attention();
  context.drop_path = recipe.drop_path();
  context.drop_path_by_depth = recipe.drop_path_by_depth();
}

std::string PrintRecipe(const v1::Recipe& recipe) {
  std::string text;
  TextFormat::PrintToString(recipe, &text);
  return text;
}

absl::StatusOr<Size> ParseSize(const std::string& text) {
  const std::vector<std::string> sides = absl::StrSplit(text, 'x');
  Size size;
  if (sides.size() <= 2 && absl::SimpleAtoi(sides.front(), &size.height) &&
      absl::SimpleAtoi(sides.back(), &size.width) && size.height >= 1 && size.width >= 1 && size.height <= 8192 &&
      size.width <= 8192) {
    return size;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a size; write SIDE or HEIGHTxWIDTH in pixels, 1 to 8192"));
}

absl::StatusOr<std::vector<std::optional<Size>>> EvaluationSizes(const v1::Recipe& recipe) {
  std::vector<std::optional<Size>> sizes;
  for (const std::string& text : recipe.evaluation_sizes()) {
    ASSIGN_OR_RETURN(const Size size, ParseSize(text));
    sizes.push_back(size);
  }
  if (sizes.empty()) sizes.push_back(std::nullopt);
  return sizes;
}

std::string ToString(Size size) {
  return absl::StrCat(size.height, "x", size.width);
}

}  // namespace vitrine
