// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_SELECTION_H_
#define VITRINE_MODELS_REPOSITORY_SELECTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/repository/repository.h"

namespace vitrine {

// Versions selected by "", "MODEL" or "MODEL@VERSION".
struct Selection {
  std::string model;  // empty: every model
  std::optional<int64_t> version;
};

// Parses a selection. INVALID_ARGUMENT: the model name is invalid, or no version follows the "@".
absl::StatusOr<Selection> ParseSelection(const std::string& which);

// Returns the one version that `which` selects; the newest if it names no version. NOT_FOUND says how to list the
// existing versions. INVALID_ARGUMENT if `which` is empty and there are models; the message names them.
absl::StatusOr<VersionId> FindOneVersion(const std::string& repository, const std::string& which);

// Returns the NOT_FOUND error for a model without versions.
absl::Status NoSuchModel(const std::string& repository, const std::string& model);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_SELECTION_H_
