// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_REPO_GOLDENS_H_
#define VITRINE_PROGRAMS_REPO_GOLDENS_H_

#include "absl/status/statusor.h"
#include "reference/model.h"
#include "repository/safetensors.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Goldens for a version that no data set stands behind: patterns as encoded pictures, a square one and a wide one, with
// the logits that `model` gives. The model is on the CPU and holds the weights as they are stored.
absl::StatusOr<Safetensors> PatternGoldens(const Model& model);

// How far the logits may be off, for either device and precision: sums in another order, other kernels; bf16 has 8 bits
// of mantissa and passes through every layer.
void SetTolerances(v1::Manifest& manifest);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_REPO_GOLDENS_H_
