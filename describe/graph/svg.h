// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DESCRIBE_GRAPH_SVG_H_
#define VITRINE_DESCRIBE_GRAPH_SVG_H_

#include <string>

#include "describe/graph/graph.h"

namespace vitrine {

// The drawing as an SVG document: no script, nothing from elsewhere. Each panel is a group of class "panel" with its
// blocks and depth, each operator in it one of class "operator" with its name and multiply-adds.
std::string GraphSvg(const Graph& graph);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_GRAPH_SVG_H_
