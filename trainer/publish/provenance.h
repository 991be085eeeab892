// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PUBLISH_PROVENANCE_H_
#define VITRINE_TRAINER_PUBLISH_PROVENANCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "models/reference/model.h"
#include "trainer/loop.h"
#include "vitrine/v1/manifest.pb.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Inputs of a run, except its recipe.
struct RunOrigin {
  std::string data = {};                    // value of --data, with its format; empty: the recipe generates its data
  std::vector<std::string> overrides = {};  // overrides of the recipe, "path=value"
  std::string source_revision = {};         // revision of the program
  // licence of the weights; empty: the licence of the start version, if there is one
  std::string licence = {};
};

// Returns true if the recipe lists this digest. The recipe's data.name and data.published then describe these data.
bool IsKnown(const v1::Recipe& recipe, const std::string& data_digest);

// Returns the provenance without ancestors and metrics. If the recipe lists the data's digest (IsKnown), the data's
// name is taken from the recipe; otherwise, it is the value of --data.
v1::Provenance MakeProvenance(const v1::Recipe& recipe, const TrainResult& result, const RunOrigin& origin);

// Adds the version that training started from, and the teacher. If training continued the start version on the same
// data with the same head, adds the epochs, images and time of that version. Returns the errors of ReadVersionAt.
absl::Status AddAncestors(const v1::Recipe& recipe, const Model& model, v1::Provenance& provenance);

// Formats an ancestor's name and the start of its digest: "digits/1, weights b67f7879e3bd".
std::string AncestorInWords(const std::string& version, const std::string& digest);

// Returns a text that names the source of the preprocessing: the start version or the recipe. Requires a start version.
std::string PreprocessingInWords(const v1::Recipe& recipe, const v1::Provenance& provenance);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PUBLISH_PROVENANCE_H_
