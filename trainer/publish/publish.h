// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_PUBLISH_PUBLISH_H_
#define VITRINE_TRAINER_PUBLISH_PUBLISH_H_

#include <atomic>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "models/reference/model.h"
#include "models/repository/repository.h"
#include "trainer/evaluate.h"
#include "trainer/loop.h"
#include "trainer/progress.h"
#include "trainer/publish/goldens.h"
#include "trainer/publish/provenance.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

struct PublishOptions {
  std::filesystem::path repository;  // an empty or missing folder becomes a repository
  std::string model;                 // name of the model in the repository
  RunOrigin origin;                  // for the provenance
  GoldenImages golden = GoldenImages::kTest;
  int threads = 1;                          // threads for measurements
  const std::atomic<bool>* stop = nullptr;  // if set to true, the call stops with CANCELLED
  Progress* progress = nullptr;             // shows measurements; may be null
};

// Adds version numbers to the recipe's start version and teacher if they have none. `before` is the recipe in the state
// of a resumed run. Uses the version number in `before` if `before` names the same model; otherwise, uses the newest
// version. A resumed run therefore reads the same versions, even if newer versions were published meanwhile, and the
// provenance names these versions. Must be called before the first step. Returns the errors of ReadVersionAt.
absl::Status PinVersions(v1::Recipe& recipe, const v1::Recipe& before = {});

// Rounds the weights to the recipe's storage type and publishes them with goldens, labels, provenance and
// model_card.md. Accuracies and goldens are computed with the rounded weights. The goldens cover every evaluation size
// and two encoded images, one of which needs a resize. If the newest version of options.model has the same weights and
// extra files, publishes nothing and returns that version. This happens if a run is resumed after it has published its
// result.
absl::StatusOr<VersionId> PublishResult(const v1::Recipe& recipe, const TrainResult& result, const Dataset& train,
                                        const Dataset& test, const PublishOptions& options);

// Returns the model card as Markdown.
std::string ModelCard(const v1::Recipe& recipe, const v1::Manifest& manifest, const TrainResult& result,
                      GoldenImages golden = GoldenImages::kTest);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_PUBLISH_PUBLISH_H_
