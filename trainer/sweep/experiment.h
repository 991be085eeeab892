// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_SWEEP_EXPERIMENT_H_
#define VITRINE_TRAINER_SWEEP_EXPERIMENT_H_

#include <string>

#include "trainer/sweep/sweep.h"

namespace vitrine {

// Returns the content of a cell's experiment.textproto: everything that decides the result of its run. A comment line
// has data, flags, program or threads; the recipe without its texts follows.
std::string ExperimentText(const v1::Recipe& recipe, const SweepOptions& options);

// Names what differs between two results of ExperimentText, and both values: "other threads (1, now 2)"; "other
// settings" if the recipes differ. Empty if nothing differs.
std::string ExperimentDifference(const std::string& before, const std::string& now);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_SWEEP_EXPERIMENT_H_
