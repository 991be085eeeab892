// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DESCRIBE_GRAPH_LAYERS_H_
#define VITRINE_DESCRIBE_GRAPH_LAYERS_H_

#include <string>
#include <vector>

#include "engine/cpu/peaks.h"
#include "models/workload/workload.h"
#include "report/data_table.h"
#include "report/roofline.h"

namespace vitrine {

// Equal operators of a forward pass: those of all blocks, where they have one shape.
struct Layer {
  std::string name;  // "blocks.*.attention.qkv"; the operator's own where it stands alone
  Operator op;       // the first of them
  int count = 1;
};

// "blocks.3.norm" as "blocks.*.norm": the first number of a name counts blocks.
std::string OverBlocks(const std::string& name);

// "norm" of "blocks.*.norm", "class norm" of "class_blocks.*.norm": what stands at a dot.
std::string LabelOf(const std::string& name);

// 4 significant digits with a unit: "1.258 G", "640 ".
std::string Short(double value);

// In the order of their first appearance. With `every` each operator stands alone.
std::vector<Layer> LayersOf(const Workload& workload, bool every);

// The layers with their cost.
DataTable LayerTable(const std::vector<Layer>& layers);

// A point for every layer that does arithmetic, where its roof is.
std::vector<RooflinePoint> PointsAtTheirBound(const std::vector<Layer>& layers, const engine::CorePeaks& peaks);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_GRAPH_LAYERS_H_
