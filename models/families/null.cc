// SPDX-License-Identifier: Apache-2.0
// A family whose logits are all 0. It reads no pixels, and is used to measure the time of serving without a model.
#include "models/families/family.h"
#include "models/program/builder.h"
#include "models/zoo/rows.h"

namespace vitrine {
namespace {

using program::Builder;
using program::Program;
using program::Value;

Program NullProgram(const v1::ModelConfig& config) {
  Builder b(config.preprocessing().channels());
  b.Enter(program::Part::kHead);
  return b.Take(b.Constant(config.classes()));
}

absl::Status ValidateNull(const v1::ModelConfig&) {
  return absl::OkStatus();
}

}  // namespace

Family NullFamily() {
  return {v1::ModelConfig::kNull, "null", ValidateNull, zoo::NullRows, NullProgram};
}

}  // namespace vitrine
