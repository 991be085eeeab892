// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_RECIPE_RECIPE_DATA_H_
#define VITRINE_TRAINER_RECIPE_RECIPE_DATA_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "common/data/tolerant.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Adds the recipe's format to `data`, the value of --data, if `data` has none: "DIR" becomes "mnist:DIR".
// INVALID_ARGUMENT if `data` is empty; the message has recipe.data.origin.
absl::StatusOr<std::string> CompleteData(const v1::Recipe& recipe, const std::string& data);

// Opens one split, and decodes every image as `preprocessing` requires. If `cache`, keeps the decoded images in memory
// unless they need more than 4 GiB. Leaves out images that cannot be decoded and adds them to `corrupt`. For the
// training split, also adds the classes that lose all images. Returns the errors of OpenDataset; their messages have
// recipe.data.origin.
absl::StatusOr<std::unique_ptr<Dataset>> OpenSplit(const v1::Recipe& recipe, const std::string& data, Split split,
                                                   const v1::Preprocessing& preprocessing, bool cache, int threads,
                                                   CorruptImages& corrupt);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RECIPE_RECIPE_DATA_H_
