// SPDX-License-Identifier: Apache-2.0
// A program as it is drawn: panels of boxes, equal blocks folded into one panel. Without places on paper; those are
// layout.h's, and the drawing itself svg.h's.
#ifndef VITRINE_DESCRIBE_GRAPH_GRAPH_H_
#define VITRINE_DESCRIBE_GRAPH_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "models/program/program.h"
#include "models/workload/workload.h"

namespace vitrine {

// What an operator does with the rows of its input; its colour.
enum class GraphRole {
  kPort,     // no operator: a value that comes from outside of the panel
  kMix,      // every row of the result comes from several
  kProduct,  // a dense layer on every row by itself
  kRow,      // other arithmetic on every row by itself
  kMove,     // values go elsewhere, or apart, or together
};

struct GraphNode {
  GraphRole role = GraphRole::kRow;
  std::string kind;        // "AttendChannels"
  std::string note = {};   // "4 heads"; may be empty
  std::string name = {};   // within its block
  std::string shape = {};  // of its result, for one image
  int64_t macs = 0;
  std::vector<int> inputs = {};  // places in the panel's nodes, all of them earlier
};

struct GraphPanel {
  program::Part part = program::Part::kInput;
  std::vector<std::string> blocks;  // whose operators these are, equal ones in a row; empty where it is no block
  std::vector<GraphNode> nodes;     // the last is what the next panel reads

  int depth() const { return blocks.empty() ? 1 : static_cast<int>(blocks.size()); }
  int64_t macs() const;  // of one of them
};

struct Graph {
  std::string title;
  std::string subtitle;
  std::string caption;
  std::vector<GraphPanel> panels;
};

// The panels of a program for one image of the input's size; multiply-adds are those of the published form.
std::vector<GraphPanel> PanelsOf(const program::Program& program, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_GRAPH_GRAPH_H_
