// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_GOLDENS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_GOLDENS_H_

#include <string>

#include "absl/status/statusor.h"
#include "models/model_description.h"
#include "models/repository/golden.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Makes goldens for a version without a data set: patterns as encoded images, one square and one wide, with the logits
// that `forward` computes from the weights as stored.
absl::StatusOr<Safetensors> PatternGoldens(const ModelDescription& model, const Forward& forward);

// Adds the tolerances of logits in fp32 and bf16 for each device. The tolerances allow for other summation orders, for
// other kernels, and for the rounding of bf16 to 8 bits of mantissa in every layer.
void SetTolerances(v1::Manifest& manifest);

// Replaces the tolerances for `precision` ("bf16" or "int8") on every device, for goldens recorded in that precision.
void SetNarrowTolerance(const std::string& precision, v1::Manifest& manifest);

// Fills in the parts of a version's draft that are derived from the model: the config, the number of parameters,
// PatternGoldens computed on the portable path, and the tolerances. `name` is the model name of the version. `model`
// must have the weights as stored. FAILED_PRECONDITION if this CPU's serving path does not agree with the goldens,
// because a server on this CPU would reject the version.
absl::Status AddModel(const std::string& name, const WeightedModel& model, Draft& draft);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_GOLDENS_H_
