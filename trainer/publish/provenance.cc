// SPDX-License-Identifier: Apache-2.0
#include "trainer/publish/provenance.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/drawing/licence_words.h"
#include "common/status_macros.h"
#include "trainer/tasks/start.h"
#include "trainer/tasks/start_config.h"

namespace vitrine {
namespace {

// Returns the processor and threads: "AMD EPYC, 2 threads".
std::string HardwareInWords(int threads) {
  std::ifstream cpus("/proc/cpuinfo");
  std::string line, name = "unknown processor";
  while (std::getline(cpus, line)) {
    if (!line.starts_with("model name")) continue;
    name = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  return absl::StrCat(name, ", ", threads, threads == 1 ? " thread" : " threads");
}

}  // namespace

bool IsKnown(const v1::Recipe& recipe, const std::string& data_digest) {
  const auto& digests = recipe.data().digests();
  return std::find(digests.begin(), digests.end(), data_digest) != digests.end();
}

v1::Provenance MakeProvenance(const v1::Recipe& recipe, const TrainResult& result, const RunOrigin& origin) {
  v1::Provenance provenance;
  provenance.set_recipe(recipe.name());
  for (const std::string& assignment : origin.overrides) {
    absl::StrAppend(provenance.mutable_recipe(), " --set ", assignment);
  }
  const bool named = origin.data.empty() || IsKnown(recipe, result.data_digest);
  provenance.set_data(named ? recipe.data().name() : origin.data);
  provenance.set_data_digest(result.data_digest);
  provenance.set_seed(static_cast<int64_t>(recipe.seed()));
  provenance.set_epochs(result.epochs);
  provenance.set_images_seen(result.samples);
  provenance.set_hardware(HardwareInWords(result.position.threads));
  provenance.set_train_seconds(result.position.seconds);
  provenance.set_source_revision(origin.source_revision);
  provenance.set_licence(origin.licence);
  provenance.set_ema_decay(recipe.ema_decay());
  provenance.set_created_unix_seconds(absl::ToUnixSeconds(absl::Now()));
  return provenance;
}

absl::Status AddAncestors(const v1::Recipe& recipe, const Model& model, v1::Provenance& provenance) {
  if (!recipe.start().version().empty()) {
    ASSIGN_OR_RETURN(const StoredVersion start, ReadVersionAt(recipe.start().version()));
    const v1::Provenance& before = start.manifest.provenance();
    provenance.set_started_from(NameOf(start.manifest));
    provenance.set_continued_from(start.weights_sha256);
    // Weights that were trained from a start version keep that version's licence, unless the user gives another
    // licence.
    if (provenance.licence().empty()) provenance.set_licence(LicenceOf(before));
    if (!recipe.start().replace_head() && start.manifest.config().classes() == model.config().classes() &&
        before.data_digest() == provenance.data_digest()) {
      provenance.set_continues(true);
      provenance.set_epochs(provenance.epochs() + before.epochs());
      provenance.set_images_seen(provenance.images_seen() + before.images_seen());
      provenance.set_train_seconds(provenance.train_seconds() + before.train_seconds());
    }
  }
  if (!recipe.distillation().teacher().empty()) {
    ASSIGN_OR_RETURN(const StoredVersion teacher, ReadVersionAt(recipe.distillation().teacher()));
    provenance.set_teacher(NameOf(teacher.manifest));
    provenance.set_teacher_digest(teacher.weights_sha256);
  }
  return absl::OkStatus();
}

std::string AncestorInWords(const std::string& version, const std::string& digest) {
  return absl::StrCat(version, ", weights ", digest.substr(0, 12));
}

std::string PreprocessingInWords(const v1::Recipe& recipe, const v1::Provenance& provenance) {
  return absl::StrCat(recipe.start().replace_preprocessing() ? "the recipe's own, instead of that of " : "that of ",
                      provenance.started_from());
}

}  // namespace vitrine
