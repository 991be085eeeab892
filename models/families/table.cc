// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/family.h"
#include "models/families/input.h"

// List of families. To add a family, add a row here, and a file in this folder that defines `Family <Row>Family()`.
#define VITRINE_FAMILIES(ROW) \
  ROW(Vit)                    \
  ROW(Eit)                    \
  ROW(EitBaseline)            \
  ROW(Kv)                     \
  ROW(Xcit)                   \
  ROW(XVit)                   \
  ROW(Null)

namespace vitrine {

#define VITRINE_DECLARE(name) Family name##Family();
VITRINE_FAMILIES(VITRINE_DECLARE)
#undef VITRINE_DECLARE

const std::vector<Family>& Families() {
#define VITRINE_ENTRY(name) name##Family(),
  static const auto* const kFamilies = new std::vector<Family>{VITRINE_FAMILIES(VITRINE_ENTRY)};
#undef VITRINE_ENTRY
  return *kFamilies;
}

namespace {

// Returns null if the config names no family.
const Family* FamilyOf(const v1::ModelConfig& config) {
  const std::vector<Family>& families = Families();
  const auto found = std::find_if(families.begin(), families.end(), [&](const Family& family) {
    return family.which == config.family_case() &&
           (family.which != v1::ModelConfig::kCustom || family.name == config.custom().family());
  });
  return found == families.end() ? nullptr : &*found;
}

absl::Status NoFamily(const v1::ModelConfig& config) {
  std::string names;
  for (const Family& known : Families()) absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
  return absl::InvalidArgumentError(
      config.has_custom()
          ? absl::StrCat("config.custom.family is \"", config.custom().family(), "\"; the families are: ", names)
          : absl::StrCat("config names no family; it must have one of: ", names));
}

}  // namespace

absl::StatusOr<const Family*> ValidatedFamily(const v1::ModelConfig& config) {
  const Family* const family = FamilyOf(config);
  if (family == nullptr) return NoFamily(config);
  RETURN_IF_ERROR(ValidateCommon(config));
  RETURN_IF_ERROR(family->validate(config));
  return family;
}

absl::StatusOr<program::Program> ProgramOf(const v1::ModelConfig& config) {
  ASSIGN_OR_RETURN(const Family* const family, ValidatedFamily(config));
  return family->program(config);
}

}  // namespace vitrine
