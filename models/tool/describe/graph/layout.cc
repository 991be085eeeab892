// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/graph/layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "models/tool/describe/graph/layers.h"

namespace vitrine {
namespace {

constexpr double kAspect = 1.5;  // target ratio of width to height

void Move(GraphPanelPlan& plan, double x, double y) {
  const auto move = [&](GraphSpot& spot) {
    spot.x += x;
    spot.y += y;
  };
  move(plan.spot);
  for (GraphSpot& spot : plan.nodes) move(spot);
  for (std::vector<GraphWire>* wires : {&plan.trunk, &plan.branches}) {
    for (GraphWire& wire : *wires) {
      for (GraphPoint& point : wire) point = {point.x + x, point.y + y};
    }
  }
}

double HeaderWidth(const GraphPanel& panel) {
  const double title = GraphTextWidth(GraphPanelTitle(panel), kGraphText + 2, true);
  const std::string depth = GraphPanelDepth(panel);
  const double badge = depth.empty() ? 0 : 30 + GraphTextWidth(depth, kGraphText + 4, true);
  const double note = GraphTextWidth(GraphPanelNote(panel), kGraphSmallText, false);
  return std::max(title, note) + badge + 2 * (kGraphPadding + 6);
}

// Arranges panels from left to right. Starts a new row if a panel would exceed `widest`.
GraphPlan InRows(std::vector<GraphPanelPlan> panels, double top, double widest) {
  GraphPlan plan;
  double x = kGraphMargin, y = top, bottom = top;
  for (GraphPanelPlan& panel : panels) {
    if (x > kGraphMargin && x + panel.spot.width > widest) {
      x = kGraphMargin;
      y = bottom + kGraphMargin;
    }
    Move(panel, x, y);
    x += panel.spot.width + kGraphMargin;
    bottom = std::max(bottom, panel.spot.bottom());
    plan.width = std::max(plan.width, x);
  }
  plan.panels = std::move(panels);
  plan.height = bottom + kGraphMargin;
  return plan;
}

// Returns the wire from a panel's last box, through the gap between panels, to the first box of the next panel.
GraphWire FlowOf(const GraphPlan& plan, size_t panel) {
  const GraphPanelPlan &from = plan.panels[panel], &to = plan.panels[panel + 1];
  const GraphSpot &last = from.nodes.back(), &first = to.nodes.front();
  const double below = from.spot.bottom() - 11, between = from.spot.right() + kGraphMargin / 2;
  GraphWire wire = {{last.centre(), last.bottom()}, {last.centre(), below}, {between, below}};
  if (to.spot.y > from.spot.y) {
    const double left = to.spot.x - kGraphMargin / 2, above = to.spot.y - kGraphMargin / 2;
    wire.insert(wire.end(), {{between, above}, {left, above}, {left, first.middle()}});
  } else {
    wire.push_back({between, first.middle()});
  }
  wire.push_back({first.x, first.middle()});
  return wire;
}

}  // namespace

double GraphTextWidth(const std::string& text, double size, bool bold) {
  return static_cast<double>(text.size()) * size * (bold ? 0.7 : 0.62);
}

std::string GraphPanelTitle(const GraphPanel& panel) {
  if (panel.blocks.size() > 1) return absl::StrCat(panel.blocks.front(), " to ", panel.blocks.back());
  if (!panel.blocks.empty()) return panel.blocks.front();
  return panel.part == program::Part::kInput ? "Input" : panel.part == program::Part::kHead ? "Head" : "Between blocks";
}

std::string GraphPanelDepth(const GraphPanel& panel) {
  return panel.depth() > 1 ? absl::StrCat("x ", panel.depth()) : "";
}

std::string GraphPanelNote(const GraphPanel& panel) {
  if (panel.macs() == 0) return "no multiply-adds";
  return absl::StrCat(GraphCount(panel.macs()), " multiply-adds", panel.depth() > 1 ? " each" : "");
}

std::string GraphCount(int64_t count) {
  return count == 0 ? "" : std::string(absl::StripTrailingAsciiWhitespace(Short(static_cast<double>(count))));
}

GraphPlan PlanOf(const std::vector<GraphPanel>& panels, double top) {
  std::vector<GraphPanelPlan> arranged;
  for (const GraphPanel& panel : panels) {
    arranged.push_back(ArrangePanel(panel));
    arranged.back().spot.width = std::max(arranged.back().spot.width, HeaderWidth(panel));
  }
  const auto badness = [](const GraphPlan& plan) {
    return std::abs(std::log(plan.width / plan.height / kAspect)) + std::log(plan.width * plan.height);
  };
  GraphPlan best = InRows(arranged, top, 0);
  for (double widest = 800; widest <= 8000; widest += 400) {
    GraphPlan plan = InRows(arranged, top, widest);
    if (badness(plan) < badness(best)) best = std::move(plan);
  }
  for (size_t i = 0; i + 1 < panels.size(); ++i) {
    if (panels[i + 1].nodes.front().role == GraphRole::kPort) best.flow.push_back(FlowOf(best, i));
  }
  return best;
}

}  // namespace vitrine
