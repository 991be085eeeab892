// SPDX-License-Identifier: Apache-2.0
#include "trainer/tasks/start_config.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"
#include "models/zoo.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;

// Returns the family's name, such as "eit"; empty if none is set.
std::string FamilyOf(const v1::ModelConfig& config) {
  const auto* families = v1::ModelConfig::descriptor()->FindOneofByName("family");
  const FieldDescriptor* family = v1::ModelConfig::GetReflection()->GetOneofFieldDescriptor(config, families);
  return family == nullptr ? "" : family->name();
}

std::string OnOneLine(const v1::Preprocessing& preprocessing) {
  TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(preprocessing, &text);
  return std::string(absl::StripSuffix(text, " "));
}

// Clears all fields that are equal in `a` and `b`.
void KeepDifferences(v1::Preprocessing& a, v1::Preprocessing& b) {
  for (int i = 0; i < v1::Preprocessing::descriptor()->field_count(); ++i) {
    const FieldDescriptor* field = v1::Preprocessing::descriptor()->field(i);
    MessageDifferencer one_field;
    std::vector<const FieldDescriptor*> fields = {field};
    if (!one_field.CompareWithFields(a, b, fields, fields)) continue;
    v1::Preprocessing::GetReflection()->ClearField(&a, field);
    v1::Preprocessing::GetReflection()->ClearField(&b, field);
  }
}

absl::Status CheckFamily(const v1::Manifest& start, const v1::Recipe& recipe, const std::string& wanted) {
  const std::string family = FamilyOf(start.config());
  if (wanted.empty() || wanted == family) return absl::OkStatus();
  const std::string held = absl::StrCat("start.version: ", NameOf(start), " belongs to family ", family, ", but ");
  if (recipe.model().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(held, "model_overrides sets fields of the family ", wanted,
                                                   "; leave them out, or start from a version of that family"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(held, "the recipe ", recipe.name(), " trains ", recipe.model(), " of family ", wanted,
                   "; start from a version of that family, or use the recipe finetune, which trains the version's "
                   "model"));
}

absl::Status CheckPreprocessing(const v1::Manifest& start, v1::Preprocessing wanted) {
  v1::Preprocessing kept = start.config().preprocessing();
  KeepDifferences(wanted, kept);
  const std::string named = OnOneLine(wanted), trained_with = OnOneLine(kept);
  if (named == trained_with) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("model_overrides.preprocessing says { ", named, " }, but ",
                                                 NameOf(start), ", which training starts from, has { ", trained_with,
                                                 " }, which its weights expect. Remove it, or confirm it with --set "
                                                 "start.replace_preprocessing=true"));
}

}  // namespace

std::string NameOf(const v1::Manifest& version) {
  return absl::StrCat(version.model(), "/", version.version());
}

absl::StatusOr<v1::ModelConfig> ConfigFrom(const v1::Manifest& start, const v1::Recipe& recipe, int classes) {
  v1::ModelConfig config;
  if (recipe.model().empty()) {
    config = start.config();
    config.set_classes(classes);
    RETURN_IF_ERROR(CheckFamily(start, recipe, FamilyOf(recipe.model_overrides())));
  } else {
    ASSIGN_OR_RETURN(const ZooRow row, FindVariant(recipe.model()));
    config = row.config;
    RETURN_IF_ERROR(CheckFamily(start, recipe, FamilyOf(config)));
  }
  const bool keeps = !recipe.start().replace_preprocessing();
  if (keeps) *config.mutable_preprocessing() = start.config().preprocessing();
  OverrideModel(recipe, config);
  if (keeps) RETURN_IF_ERROR(CheckPreprocessing(start, config.preprocessing()));
  return config;
}

bool ReplacesHead(const v1::Recipe& recipe, const std::vector<std::string>& version_labels,
                  const std::vector<std::string>& labels) {
  return recipe.start().replace_head() || (recipe.model().empty() && !SameNames(version_labels, labels));
}

}  // namespace vitrine
