// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_NUMBERS_H_
#define VITRINE_CLIENT_LIB_NUMBERS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "vitrine/v1/attention.pb.h"
#include "vitrine/v1/features.pb.h"

namespace vitrine {

// Returns the values of an attention map, row-major. INVALID_ARGUMENT: `map` holds an image, or its bytes do not match
// its shape.
absl::StatusOr<std::vector<float>> AttentionValues(const v1::AttentionMap& map);

// Returns the values of a feature: rows x columns x width, channels innermost. INVALID_ARGUMENT: the bytes do not match
// the shape.
absl::StatusOr<std::vector<float>> FeatureValues(const v1::Feature& feature);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_NUMBERS_H_
