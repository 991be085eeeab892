// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_RUN_RESULT_H_
#define VITRINE_TRAINER_RUN_RESULT_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer/loop.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Writes WORK_DIR/result.json of a finished run, for scripts and sweeps.
//   {"recipe": name, "finished": true, "epochs": 2.0, "steps": 780, "samples": 99840, "seconds": 61.2,
//    "parameters": 64288, "model": "last" or "best", "scores": {"test/accuracy": 0.998, "test/loss": 0.01},
//    "train": {"loss": mean over the last epoch, "accuracy": of its augmented samples}}
// `scores` are the result's and those of result.others. Without a test split, they are "train/...". If nothing was held
// out, "test-best/..." is the best measurement during training, chosen on the test split itself. Numbers round-trip;
// values that were not counted are absent. FAILED_PRECONDITION if the file cannot be written.
absl::Status WriteRunResult(const std::filesystem::path& work_dir, const v1::Recipe& recipe, const TrainResult& result,
                            const std::vector<Score>& scores);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RUN_RESULT_H_
