// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_START_H_
#define VITRINE_TRAINER_TASKS_START_H_

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "models/reference/model.h"
#include "models/repository/stored_version.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Reads a version by its folder: "REPOSITORY/MODEL/VERSION", or "REPOSITORY/MODEL" for the newest version.
// INVALID_ARGUMENT: the path has another form. NOT_FOUND: the message names the missing repository or some existing
// versions. Other errors are those of ReadVersion.
absl::StatusOr<StoredVersion> ReadVersionAt(const std::string& folder);

// Reorders the classes of `data` like those of the start version, so that the version's head fits. Returns `data`
// unchanged if there is no start version, if start.replace_head is set, or if the classes do not match one to one by
// name. Returns the errors of ReadVersionAt.
absl::StatusOr<std::unique_ptr<Dataset>> OrderAsStart(const v1::Recipe& recipe, std::unique_ptr<Dataset> data);

// Returns the names of parameters whose shape depends on the number of classes: the classifier's last layer.
absl::StatusOr<std::set<std::string>> HeadOf(v1::ModelConfig config);

// Copies a stored version's weights into `model`. With `replace_head`, the version's classes may differ, and `model`
// keeps its own HeadOf parameters. Resizes the position table if the grids differ. FAILED_PRECONDITION names the first
// tensor that is missing or does not fit. In this case, some weights of `model` may already be overwritten.
absl::Status StartFrom(const StoredVersion& version, bool replace_head, Model& model);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_START_H_
