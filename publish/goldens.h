// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_GOLDENS_H_
#define VITRINE_PUBLISH_GOLDENS_H_

#include <string>

#include "absl/status/statusor.h"
#include "models/model_description.h"
#include "repository/golden.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Goldens for a version that no data set stands behind: patterns as encoded pictures, a square one and a wide one, with
// the logits that `forward` gives from the weights as they are stored.
absl::StatusOr<Safetensors> PatternGoldens(const ModelDescription& model, const Forward& forward);

// How far the logits may be off, for either device and precision: sums in another order, other kernels; bf16 has 8 bits
// of mantissa and passes through every layer.
void SetTolerances(v1::Manifest& manifest);

// How far the CPU's logits in "bf16" or "int8" may be off from the goldens of that precision, instead of what the
// manifest said.
void SetNarrowTolerance(const std::string& precision, v1::Manifest& manifest);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_GOLDENS_H_
