#ifndef VITRINE_TRAINER_STATE_H_
#define VITRINE_TRAINER_STATE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/model.h"
#include "trainer/optimizer.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Where a run stands. Randomness needs no state of its own: it is a function of the recipe's seed and the step.
struct RunPosition {
  int64_t step = 0;     // steps done
  int64_t images = 0;   // images seen
  double seconds = 0;   // wall time of training over all runs
  double loss_sum = 0;  // over the images of the unfinished epoch
  int64_t correct = 0;  // of the unfinished epoch
  int threads = 0;      // of the run that wrote the state
};

// The state file of a work folder.
std::filesystem::path StateFile(const std::filesystem::path& work_dir);

// Writes weights, moments, position and recipe to StateFile(work_dir), through a temporary file and fsync: a crash
// leaves the old state or the new one.
absl::Status SaveState(const std::filesystem::path& work_dir, const v1::Recipe& recipe, const std::string& data_digest,
                       const RunPosition& position, const Model& model, const Optimizer& optimizer);

// Restores what SaveState wrote, bit by bit. FAILED_PRECONDITION, with a sentence, if the state is of another recipe
// (only `epochs`, `evaluation_sizes`, `evaluate_every` and texts may differ), of other data, or damaged.
absl::StatusOr<RunPosition> RestoreState(const std::filesystem::path& work_dir, const v1::Recipe& recipe,
                                         const std::string& data_digest, Model& model, Optimizer& optimizer);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_STATE_H_
