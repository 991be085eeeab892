// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_RECIPE_H_
#define VITRINE_TRAINER_RECIPE_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "imaging/geometry.h"
#include "reference/forward_context.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// A recipe that is compiled into the program, from trainer/recipes/<name>.textproto.
struct BundledRecipe {
  std::string_view name;
  std::string_view text;
};
std::span<const BundledRecipe> BundledRecipes();

// A bundled recipe's name, or the path of a textproto file (anything with a '/' or '.'). Not validated yet, so that
// overrides may still complete it. NOT_FOUND lists the bundled names; INVALID_ARGUMENT quotes line and column.
absl::StatusOr<v1::Recipe> FindRecipe(const std::string& name_or_path);

// "path=value": path names a field with dots, value is what a textproto would hold. Strings need no quotes; a repeated
// field is replaced as a whole, by a [list] or by values with commas; messages need the [list]. INVALID_ARGUMENT names
// the part of the path that does not exist and the fields that do, or the values that an enum has.
absl::Status ApplyOverride(const std::string& assignment, v1::Recipe& recipe);

// FindRecipe with the overrides applied. Errors of both.
absl::StatusOr<v1::Recipe> OverriddenRecipe(const std::string& name_or_path, const std::vector<std::string>& overrides);

// INVALID_ARGUMENT names the first field that is missing or out of its range, its value and the range.
absl::Status ValidateRecipe(const v1::Recipe& recipe);

// OverriddenRecipe, validated.
absl::StatusOr<v1::Recipe> ReadRecipe(const std::string& name_or_path, const std::vector<std::string>& overrides);

// Dropout and drop path of the recipe.
void SetDropping(const v1::Recipe& recipe, ForwardContext& context);

// Clears in `to` every repeated field that `from` sets, so that a merge replaces instead of appending.
void ClearReplacedLists(const google::protobuf::Message& from, google::protobuf::Message& to);

// Puts the recipe's overrides into the place of the config's fields.
void OverrideModel(const v1::Recipe& recipe, v1::ModelConfig& config);

// The zoo's row with the recipe's overrides; of a recipe that starts from a version see tasks/start_config.h.
absl::StatusOr<v1::ModelConfig> ConfigOf(const v1::Recipe& recipe);

// As a textproto file.
std::string PrintRecipe(const v1::Recipe& recipe);

// "24" is 24x24, "32x24" is 32 high and 24 wide.
absl::StatusOr<Size> ParseSize(const std::string& text);
std::string ToString(Size size);

// The sizes that are measured at the end, one at least; none stands for each picture's own.
absl::StatusOr<std::vector<std::optional<Size>>> EvaluationSizes(const v1::Recipe& recipe);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RECIPE_H_
