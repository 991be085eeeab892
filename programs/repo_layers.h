// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_REPO_LAYERS_H_
#define VITRINE_PROGRAMS_REPO_LAYERS_H_

#include <optional>
#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "programs/repo_measure.h"
#include "report/data_table.h"
#include "report/roofline.h"

namespace vitrine {

// Equal operators of a forward pass: those of all blocks, where they have one shape.
struct Layer {
  std::string name;  // "blocks.*.attention.qkv"; the operator's own where it stands alone
  Operator op;       // the first of them
  int count = 1;
  std::optional<double> seconds;  // of one
};

// 4 significant digits with a unit: "1.258 G", "640 ".
std::string Short(double value);

// In the order of their first appearance. With `every` each operator stands alone.
std::vector<Layer> LayersOf(const Workload& workload, bool every);

// The layers with their cost; times and bounds where `peaks` is not null.
DataTable LayerTable(const std::vector<Layer>& layers, const MachinePeaks* peaks);

// A point for every layer that does arithmetic: at its bound where it was not measured.
std::vector<RooflinePoint> PointsOf(const std::vector<Layer>& layers, const MachinePeaks& peaks);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_REPO_LAYERS_H_
