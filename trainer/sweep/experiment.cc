// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/experiment.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

struct Experiment {
  std::map<std::string, std::string> conditions;  // values by name of the condition
  std::string recipe;
};

Experiment Parse(const std::string& text) {
  Experiment experiment;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "# ")) {
      const std::pair<std::string, std::string> condition = absl::StrSplit(line, absl::MaxSplits(": ", 1));
      experiment.conditions.insert(condition);
    } else {
      absl::StrAppend(&experiment.recipe, line, "\n");
    }
  }
  return experiment;
}

}  // namespace

std::string ExperimentText(const v1::Recipe& recipe, const SweepOptions& options) {
  v1::Recipe bound = recipe;
  bound.clear_description();
  bound.clear_data();  // the fields data and description do not change the result
  return absl::StrCat("# data: ", options.data_digest, "\n# flags: ", absl::StrJoin(options.flags, " "),
                      "\n# program: ", options.program_digest, "\n# threads: ", options.threads, "\n",
                      PrintRecipe(bound));
}

std::string ExperimentDifference(const std::string& before, const std::string& now) {
  const Experiment old = Parse(before);
  const Experiment current = Parse(now);
  std::vector<std::string> differences;
  for (const auto& [name, value] : current.conditions) {
    const auto found = old.conditions.find(name);
    if (found == old.conditions.end()) {
      differences.push_back(absl::StrCat("unknown ", name));
    } else if (found->second != value) {
      const auto words = [](const std::string& text) { return text.empty() ? "none" : text; };
      differences.push_back(absl::StrCat("other ", name, " (", words(found->second), ", now ", words(value), ")"));
    }
  }
  if (old.recipe != current.recipe) differences.push_back("other settings");
  return absl::StrJoin(differences, ", ");
}

}  // namespace vitrine
