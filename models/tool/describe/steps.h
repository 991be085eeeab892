// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_STEPS_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_STEPS_H_

#include <string>
#include <vector>

#include "common/charts/html/data_table.h"
#include "common/charts/roofline.h"
#include "models/tool/describe/measure.h"

namespace vitrine {

// A group of equal steps in several blocks. `step` has the cost of one step, and the mean time of all steps of the
// group.
struct StepGroup {
  StepProfile step;  // named "blocks.*.attention.qkv" if the group has several steps
  int count = 1;
};

// Groups equal steps, in order of first appearance. With `every`, each step is its own group.
std::vector<StepGroup> GroupsOf(const Measurement& measured, bool every);

// Returns a table with a row per group: the cost and time of a step, the roofline's bound divided by the time, and the
// time of all steps of the group as a fraction of the time of all steps of the pass.
DataTable StepTable(const std::vector<StepGroup>& steps, const Measurement& measured);

// Returns a roofline point for every step with multiplications.
std::vector<RooflinePoint> PointsOf(const std::vector<StepGroup>& steps, const Measurement& measured);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_STEPS_H_
