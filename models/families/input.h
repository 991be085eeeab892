// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_FAMILIES_INPUT_H_
#define VITRINE_MODELS_FAMILIES_INPUT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "models/token_layout.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Largest max_tokens of a config.
inline constexpr int kMostTokens = 1 << 16;

// Checks that a value is in a range. INVALID_ARGUMENT "config.<field> is <value>; it must be <least> to <most>".
absl::Status CheckRange(absl::string_view field, int64_t value, int64_t least, int64_t most);
// Checks that value is a multiple of `of`. INVALID_ARGUMENT "config.<field> is <value>; it must be a multiple of ...".
absl::Status CheckMultiple(absl::string_view field, int64_t value, absl::string_view of_field, int64_t of);

// Checks the fields of a config that all families share: channels, classes, resolution.
absl::Status ValidateCommon(const v1::ModelConfig& config);
// Checks the preprocessing: for native resolution, that native.cell is equal to `cell`; for a fixed size, that at least
// one cell of cell x cell pixels fits into it.
absl::Status ValidateCell(const v1::ModelConfig& config, absl::string_view field, int cell);

// Returns the grid of an input, in cells of cell x cell pixels. The input must have the fixed size, or any size with
// min_tokens to max_tokens cells. INVALID_ARGUMENT for other sizes. Pixels that do not fill a cell are cut off.
absl::StatusOr<Grid> GridOfInput(const v1::Preprocessing& preprocessing, int cell, int height, int width);

}  // namespace vitrine

#endif  // VITRINE_MODELS_FAMILIES_INPUT_H_
