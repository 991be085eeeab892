// SPDX-License-Identifier: Apache-2.0
#include "models/engine/precision.h"

namespace vitrine {

const char* Name(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kInt8:
      return "int8";
  }
  return "unknown";
}

std::optional<Precision> ParsePrecision(std::string_view name) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
    if (name == Name(precision)) return precision;
  }
  return std::nullopt;
}

}  // namespace vitrine
