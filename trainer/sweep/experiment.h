// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_EXPERIMENT_H_
#define VITRINE_TRAINER_SWEEP_EXPERIMENT_H_

#include <string>

#include "trainer/sweep/sweep.h"

namespace vitrine {

// Returns the content of experiment.textproto in a run's folder, which identifies the run's inputs: comment lines with
// the digests of data and program, flags and threads, then the recipe without the fields description and data.
std::string ExperimentText(const v1::Recipe& recipe, const SweepOptions& options);

// Returns the differences between two results of ExperimentText, with both values: "other threads (1, now 2)"; "other
// settings" if the recipes differ; "" if nothing differs.
std::string ExperimentDifference(const std::string& before, const std::string& now);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_EXPERIMENT_H_
