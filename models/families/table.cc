#include "models/families/family.h"

namespace vitrine {

std::span<const Family> Families() {
  static constexpr Family kFamilies[] = {
      {v1::ModelConfig::kVit, "vit", ValidateVit, MakeVit},
      {v1::ModelConfig::kEit, "eit", ValidateEit, MakeEit},
      {v1::ModelConfig::kEitBaseline, "eit-baseline", ValidateEitBaseline, MakeEitBaseline},
      {v1::ModelConfig::kKv, "kv", ValidateKv, MakeKv},
      {v1::ModelConfig::kXcit, "xcit", ValidateXcit, MakeXcit},
      {v1::ModelConfig::kXvit, "xvit", ValidateXVit, MakeXVit},
      {v1::ModelConfig::kNull, "null", ValidateNull, MakeNull},
  };
  return kFamilies;
}

}  // namespace vitrine
