// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_LAYERS_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_LAYERS_H_

#include <string>
#include <vector>

#include "common/charts/html/data_table.h"
#include "common/charts/roofline.h"
#include "models/tool/describe/peaks.h"
#include "models/workload/workload.h"

namespace vitrine {

// Operators of a forward pass with equal names (except for the block number), shapes and parameter counts.
struct Layer {
  std::string name;  // "blocks.*.attention.qkv"; the operator's own name if there is only one operator
  Operator op;       // the first of the operators
  int count = 1;
};

// Replaces the number after "blocks" or "class_blocks": "blocks.3.norm" becomes "blocks.*.norm".
std::string OverBlocks(const std::string& name);

// Returns the label of a point on the roofline: "norm" for "blocks.*.norm", "class norm" for "class_blocks.*.norm".
std::string LabelOf(const std::string& name);

// Formats 4 significant digits with a unit prefix: "1.258 G", "640 ".
std::string Short(double value);

// Groups equal operators, in order of first appearance. With `every`, each operator is its own layer.
std::vector<Layer> LayersOf(const Workload& workload, bool every);

DataTable LayerTable(const std::vector<Layer>& layers);

// Returns a point on the roofline for every layer with arithmetic.
std::vector<RooflinePoint> PointsAtTheirBound(const std::vector<Layer>& layers, const CorePeaks& peaks);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_LAYERS_H_
