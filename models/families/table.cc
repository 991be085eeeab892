// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/families/family.h"

// Every family. A new one is a row here and a file beside this one that defines `Family <Row>Family()`.
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

const Family* FamilyOf(const v1::ModelConfig& config) {
  const std::vector<Family>& families = Families();
  const auto found = std::find_if(families.begin(), families.end(), [&](const Family& family) {
    return family.which == config.family_case() &&
           (family.which != v1::ModelConfig::kCustom || family.name == config.custom().family());
  });
  return found == families.end() ? nullptr : &*found;
}

}  // namespace vitrine
