// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DESCRIBE_STEPS_H_
#define VITRINE_DESCRIBE_STEPS_H_

#include <string>
#include <vector>

#include "describe/measure.h"
#include "report/data_table.h"
#include "report/roofline.h"

namespace vitrine {

// Equal steps of all blocks: one of them, with the mean of their times.
struct StepGroup {
  engine::StepProfile step;  // named "blocks.*.attention.qkv" where there are several
  int count = 1;
};

// In the order of their first appearance. With `every` each step stands alone.
std::vector<StepGroup> GroupsOf(const Measurement& measured, bool every);

// Their cost, time, and share of the roofline and of the pass.
DataTable StepTable(const std::vector<StepGroup>& steps, const Measurement& measured);

// A point for every step that multiplies.
std::vector<RooflinePoint> PointsOf(const std::vector<StepGroup>& steps, const Measurement& measured);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_STEPS_H_
