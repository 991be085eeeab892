// SPDX-License-Identifier: Apache-2.0
// A program as a diagram: panels of boxes, with equal consecutive blocks folded into one panel. Positions are in
// layout.h, drawing is in svg.h.
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_GRAPH_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/program/program.h"
#include "models/workload/workload.h"

namespace vitrine {

// Effect of an operator on the rows of its input; determines the colour of the operator's box.
enum class GraphRole {
  kPort,     // a value from outside the panel, not an operator
  kMix,      // each row of the result depends on several input rows
  kProduct,  // a dense layer on each row separately
  kRow,      // other arithmetic on each row separately
  kMove,     // only moves, splits or joins values
};

struct GraphNode {
  GraphRole role = GraphRole::kRow;
  std::string kind;        // "AttendChannels"
  std::string note = {};   // "4 heads"; may be empty
  std::string name = {};   // within its block
  std::string shape = {};  // shape of the result, for one image
  int64_t macs = 0;
  std::vector<int> inputs = {};  // indices of earlier nodes in the panel
};

struct GraphPanel {
  program::Part part = program::Part::kInput;
  std::vector<std::string> blocks;  // names of the consecutive equal blocks; empty for other panels
  std::vector<GraphNode> nodes;     // the last node is the input of the next panel

  int depth() const { return blocks.empty() ? 1 : static_cast<int>(blocks.size()); }
  int64_t macs() const;  // multiply-adds per block
};

struct Graph {
  std::string title;
  std::string subtitle;
  std::string caption;
  std::vector<GraphPanel> panels;
};

// Returns the panels of a program for one image of the input's size. Multiply-adds are counted as for Form::kPublished.
std::vector<GraphPanel> PanelsOf(const program::Program& program, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_GRAPH_H_
