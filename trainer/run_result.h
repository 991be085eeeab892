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
//   {"recipe": name, "seed": 7, "data_digest": of the training split, as in a manifest, "threads": 1, "processes": 1,
//    "cpu": "AMD EPYC 9B14, family 25, model 17", "kernels": "avx512_bf16",
//    "storage": "fp32" or "bf16", the precision of published weights; the scores are of fp32 weights,
//    "program": ProgramDigest(), "revision": `source_revision`,
//    "finished": true, "epochs": 2.0, "steps": 780, "samples": 99840, "seconds": 61.2,
//    "parameters": 64288, "model": "last" or "best", "best": {"epochs": 1.0, "steps": 390}, "scores": {"test/accuracy":
//    0.998, "test/loss": 0.01}, "train": {"loss": mean over the last epoch, "accuracy": of its augmented samples}}
// "scores" has the scores of "model" and of result.others. "best" is present if "model" is "best", and has the epochs
// and steps up to the best weights. Epochs, steps, samples and seconds are totals of the run. Without a test split, the
// names of scores are "train/...". "validation/..." is the score on held-out samples by which "model" was chosen. If no
// samples were held out, "test-best/..." is the best score that was measured during training on the test split itself.
// With Recipe.block_norms, "gradient/last-by-first" is LastBlockByFirst of steps.csv (watch/history.h). Reading a
// number back gives exactly the same value. Values that were not measured are absent. Errors are those of ReplaceFile
// and ReadSteps.
absl::Status WriteRunResult(const std::filesystem::path& work_dir, const v1::Recipe& recipe, const TrainResult& result,
                            const std::vector<Score>& scores, const std::string& source_revision);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_RUN_RESULT_H_
