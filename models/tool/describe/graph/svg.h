// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_SVG_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_SVG_H_

#include <string>

#include "models/tool/describe/graph/graph.h"

namespace vitrine {

// Returns the drawing as an SVG document without scripts or external references. Each panel is a group of class "panel"
// with its blocks and depth; each operator in a panel is a group of class "operator" with its name and multiply-adds.
std::string GraphSvg(const Graph& graph);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_SVG_H_
