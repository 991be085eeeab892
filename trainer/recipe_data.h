// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_RECIPE_DATA_H_
#define VITRINE_TRAINER_RECIPE_DATA_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/tolerant.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// `data` as --data gave it, with the recipe's format before it where it names none: "DIR" becomes "mnist:DIR".
// INVALID_ARGUMENT, with the data's origin, if it is empty.
absl::StatusOr<std::string> CompleteData(const v1::Recipe& recipe, const std::string& data);

// One split, of which every picture is decoded now as `preprocessing` says, and kept in memory if `cache`. Pictures
// that cannot be decoded are added to `corrupt` and left out. Errors as OpenDataset, with the data's origin.
absl::StatusOr<std::unique_ptr<Dataset>> OpenSplit(const v1::Recipe& recipe, const std::string& data, Split split,
                                                   const v1::Preprocessing& preprocessing, bool cache, int threads,
                                                   CorruptPictures& corrupt);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RECIPE_DATA_H_
