// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_EXPERIMENT_H_
#define VITRINE_TRAINER_SWEEP_EXPERIMENT_H_

#include <string>

#include "trainer/sweep/sweep.h"

namespace vitrine {

// Returns the content of the file experiment.textproto in a run's folder. It identifies the run's inputs: comment lines
// with the digests of data and program, the flags and the threads, then the recipe without its fields description and
// data.
std::string ExperimentText(const v1::Recipe& recipe, const SweepOptions& options);

// Returns the differences between two results of ExperimentText, with both values, such as "other threads (1, now 2)".
// If the recipes differ, returns "other settings"; if nothing differs, "".
std::string ExperimentDifference(const std::string& before, const std::string& now);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_EXPERIMENT_H_
