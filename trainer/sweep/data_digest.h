// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_DATA_DIGEST_H_
#define VITRINE_TRAINER_SWEEP_DATA_DIGEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Returns a digest of the content of `data`, the value of --data. For images, the digest covers the training and the
// test split; for sequences, it covers the files. The digest does not depend on the location of the data. If the recipe
// generates its data, there are no files, and the result is the digest of the text `data`. Reads all data, on `threads`
// threads. Returns the errors of OpenDataset and Dataset::stored.
absl::StatusOr<std::string> RunDataDigest(const v1::Recipe& recipe, const std::string& data, int threads);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_DATA_DIGEST_H_
