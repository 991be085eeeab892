// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_TRAIN_RECIPE_H_
#define VITRINE_PROGRAMS_TRAIN_RECIPE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/tolerant.h"
#include "vitrine/v1/recipe.pb.h"

// What the commands of vitrine-train share.
namespace vitrine {

inline constexpr char kTrainProgram[] = "vitrine-train";

// The whole cores that mask, cpuset and quota leave to this process, at least 1.
int DefaultThreads();

// FindRecipe with the overrides applied. Errors of both are WrongCommandLine.
absl::StatusOr<v1::Recipe> OverriddenRecipe(const std::string& name, const std::vector<std::string>& overrides);

// The same, validated.
absl::StatusOr<v1::Recipe> ReadRecipe(const std::string& name, const std::vector<std::string>& overrides);

// `data` as --data gave it, with the recipe's format before it where it names none: "DIR" becomes "mnist:DIR".
// INVALID_ARGUMENT and WrongCommandLine, with the data's origin, if it is empty.
absl::StatusOr<std::string> CompleteData(const v1::Recipe& recipe, const std::string& data);

// One split, decoded as `preprocessing` says and kept in memory if `cache`. Pictures that cannot be decoded are added
// to `corrupt`, named, and left out. Errors as OpenDataset, with the data's origin.
absl::StatusOr<std::unique_ptr<Dataset>> OpenSplit(const v1::Recipe& recipe, const std::string& data, Split split,
                                                   const v1::Preprocessing& preprocessing, bool cache, int threads,
                                                   std::shared_ptr<CorruptPictures> corrupt);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_TRAIN_RECIPE_H_
