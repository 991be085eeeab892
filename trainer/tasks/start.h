// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_START_H_
#define VITRINE_TRAINER_TASKS_START_H_

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "reference/model.h"
#include "repository/stored_version.h"

namespace vitrine {

// Reads a version that a recipe names by its folder: "REPOSITORY/MODEL/VERSION", or "REPOSITORY/MODEL" for the newest.
// INVALID_ARGUMENT if it is no such path, NOT_FOUND with what is there if there is none; otherwise errors as
// ReadVersion.
absl::StatusOr<StoredVersion> ReadVersionAt(const std::string& folder);

// The names of the parameters whose shape depends on the number of classes: the classifier's last layer.
absl::StatusOr<std::set<std::string>> HeadOf(v1::ModelConfig config);

// Copies a stored version's weights into `model`, which may have other classes if `replace_head`: HeadOf's parameters
// stay as they are. A table of positions made for another grid is resized.
// FAILED_PRECONDITION names the first tensor that fits neither way; the model is changed in part then.
absl::Status StartFrom(const StoredVersion& version, bool replace_head, Model& model);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_START_H_
