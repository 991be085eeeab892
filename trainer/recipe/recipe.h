// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_RECIPE_RECIPE_H_
#define VITRINE_TRAINER_RECIPE_RECIPE_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/imaging/geometry.h"
#include "models/reference/forward_context.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// A recipe that is compiled into the program, from trainer/recipes/<name>.textproto.
struct BundledRecipe {
  std::string_view name;
  std::string_view text;
};
std::span<const BundledRecipe> BundledRecipes();

// Finds a bundled recipe by name, or reads a textproto file by path (a name with '/' or '.'). Fields that the recipe
// does not set are taken from its `base`. Does not validate, because overrides may set the missing fields. NOT_FOUND
// names the file or lists the bundled names. INVALID_ARGUMENT: parse error (with line and column), missing base, or
// more than four bases.
absl::StatusOr<v1::Recipe> FindRecipe(const std::string& name_or_path);

// Applies "path=value": `path` is a field such as optimizer.lr, `value` is written as in a textproto. Strings have
// quotes only within a [list]. A [list] or comma-separated values replace all values of a repeated field; a repeated
// field of messages needs a [list]. INVALID_ARGUMENT: an unknown field (the message lists the fields); an unknown enum
// value (the message lists the values); another invalid value; or a zero in model_overrides, because a zero would not
// change the model.
absl::Status ApplyOverride(const std::string& assignment, v1::Recipe& recipe);

// Calls FindRecipe and applies the overrides. Returns the errors of FindRecipe and ApplyOverride.
absl::StatusOr<v1::Recipe> OverriddenRecipe(const std::string& name_or_path, const std::vector<std::string>& overrides);

// Returns INVALID_ARGUMENT with the first missing or out-of-range field, its value and the range.
absl::Status ValidateRecipe(const v1::Recipe& recipe);

// Calls OverriddenRecipe and validates the result.
absl::StatusOr<v1::Recipe> ReadRecipe(const std::string& name_or_path, const std::vector<std::string>& overrides);

// Sets the dropout rates and the drop path rate of `context` from the recipe.
void SetDropping(const v1::Recipe& recipe, ForwardContext& context);

// Clears every repeated field of `to` that `from` sets, so that a merge replaces lists instead of appending to them.
void ClearReplacedLists(const google::protobuf::Message& from, google::protobuf::Message& to);

// Overwrites the fields of `config` that recipe.model_overrides sets.
void OverrideModel(const v1::Recipe& recipe, v1::ModelConfig& config);

// Returns the config of the zoo row with the recipe's overrides. For a recipe that starts from a version, see
// tasks/start_config.h.
absl::StatusOr<v1::ModelConfig> ConfigOf(const v1::Recipe& recipe);

// Returns the recipe as a textproto file.
std::string PrintRecipe(const v1::Recipe& recipe);

// Parses "24" as 24x24 and "32x24" as height 32, width 24. INVALID_ARGUMENT unless each side is 1 to 8192.
absl::StatusOr<Size> ParseSize(const std::string& text);
std::string ToString(Size size);

// Returns the image sizes at which accuracy is measured after training. There is at least one; nullopt is each image's
// native size.
absl::StatusOr<std::vector<std::optional<Size>>> EvaluationSizes(const v1::Recipe& recipe);

// Returns EvaluateOptions::crop for the recipe: recipe.evaluation_crop, or 1 if it is not set.
inline double EvaluationCrop(const v1::Recipe& recipe) {
  return recipe.evaluation_crop() > 0 ? recipe.evaluation_crop() : 1;
}

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RECIPE_RECIPE_H_
