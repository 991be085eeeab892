// SPDX-License-Identifier: Apache-2.0
// Positions of the boxes and wires of a drawn program. No box covers another, and no wire crosses a box.
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_LAYOUT_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_LAYOUT_H_

#include <string>
#include <vector>

#include "models/tool/describe/graph/graph.h"

namespace vitrine {

inline constexpr double kGraphText = 12.5, kGraphSmallText = 11;  // in pixels, like all sizes below
inline constexpr double kGraphLine = 16;                          // line height
inline constexpr double kGraphPadding = 10;                       // between a box and its text
inline constexpr double kGraphHeader = 52;                        // height of a panel's header
inline constexpr double kGraphMargin = 28;                        // around the drawing, and between panels

// Returns an upper limit for the width of the text in common sans-serif fonts.
double GraphTextWidth(const std::string& text, double size, bool bold);

struct GraphPoint {
  double x = 0;
  double y = 0;
};
using GraphWire = std::vector<GraphPoint>;  // corners of horizontal and vertical lines

struct GraphSpot {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double centre() const { return x + width / 2; }
  double middle() const { return y + height / 2; }
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct GraphPanelPlan {
  GraphSpot spot = {};
  std::vector<GraphSpot> nodes = {};
  std::vector<GraphWire> trunk = {};  // wires straight down the first lane, the residual stream
  std::vector<GraphWire> branches = {};
};

struct GraphPlan {
  std::vector<GraphPanelPlan> panels;
  std::vector<GraphWire> flow;  // wires from panel to panel
  double width = 0;
  double height = 0;
};

// Return the texts of a panel's header: the title "blocks.0 to blocks.11", the depth "x 12", and the note below them.
std::string GraphPanelTitle(const GraphPanel& panel);
std::string GraphPanelDepth(const GraphPanel& panel);  // empty for a single block
std::string GraphPanelNote(const GraphPanel& panel);
// Returns a text like "58.1 M"; empty for 0.
std::string GraphCount(int64_t count);

// Arranges panels from left to right in rows; the first row begins at `top`. Chooses the length of the rows so that the
// drawing is small and about 1.5 times as wide as high.
GraphPlan PlanOf(const std::vector<GraphPanel>& panels, double top);

// Arranges one panel with its corner at 0, 0 (lanes.cc).
GraphPanelPlan ArrangePanel(const GraphPanel& panel);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_LAYOUT_H_
