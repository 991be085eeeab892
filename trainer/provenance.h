// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PROVENANCE_H_
#define VITRINE_TRAINER_PROVENANCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "reference/model.h"
#include "trainer/loop.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// What a run was given beside its recipe.
struct RunOrigin {
  std::string data = {};                    // --data, with its format; empty: the recipe makes its own data
  std::vector<std::string> overrides = {};  // of the recipe, "path=value"
  std::string source_revision = {};         // of the program, as the user names it
};

// Whether the recipe's name of its data and its published figure speak of data with this digest.
bool IsKnown(const v1::Recipe& recipe, const std::string& data_digest);

// Everything but ancestors and metrics. The data have the recipe's name where they are known, else that which was
// given.
v1::Provenance MakeProvenance(const v1::Recipe& recipe, const TrainResult& result, const RunOrigin& origin);

// Adds where the weights started and who taught them. What led to a version that was only continued counts as ours.
// Errors as ReadVersionAt.
absl::Status AddAncestors(const v1::Recipe& recipe, const Model& model, v1::Provenance& provenance);

// "digits/1, weights b67f7879e3bd": an ancestor's name and the beginning of its digest.
std::string AncestorInWords(const std::string& version, const std::string& digest);

// Whose preprocessing a training from a version kept.
std::string PreprocessingInWords(const v1::Recipe& recipe, const v1::Provenance& provenance);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PROVENANCE_H_
