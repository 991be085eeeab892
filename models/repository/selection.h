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

// INVALID_ARGUMENT: an invalid model name, or no version after the "@".
absl::StatusOr<Selection> ParseSelection(const std::string& which);

// The one version that `which` means, the newest where it names none. NOT_FOUND says how to see what is there;
// INVALID_ARGUMENT, where `which` is empty, names the models.
absl::StatusOr<VersionId> FindOneVersion(const std::string& repository, const std::string& which);

// Returns the NOT_FOUND error for a model without versions.
absl::Status NoSuchModel(const std::string& repository, const std::string& model);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_SELECTION_H_
