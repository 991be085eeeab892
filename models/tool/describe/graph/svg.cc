// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/graph/svg.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/charts/html/data_table.h"
#include "common/charts/html/html.h"
#include "models/tool/describe/graph/layout.h"
#include "models/tool/describe/graph/program_json.h"

namespace vitrine {
namespace {

constexpr double kTop = 142;  // top of the panels, below title and legend
constexpr char kInk[] = "#1f2933", kFaintInk[] = "#52606d", kWireInk[] = "#5b6775";

struct Style {
  const char* fill;
  const char* line;
  const char* meaning;
};
// Styles, indexed by GraphRole.
constexpr std::array<Style, 5> kRoles = {{
    {"#ffffff", "#8792a2", "input value"},
    {"#ffdcc7", "#d55e00", "mixes tokens or pixels"},
    {"#cfe5f7", "#0072b2", "dense layer, row by row"},
    {"#ffffff", "#7b8794", "other arithmetic, row by row"},
    {"#e6e8ec", "#a0a8b3", "moves values"},
}};
// Styles, indexed by program::Part.
constexpr std::array<Style, 3> kParts = {{
    {"#fff5dc", "#e0b84f", "input"},
    {"#eff4fa", "#8fb2d9", "blocks"},
    {"#e6f5ea", "#82c194", "head"},
}};

const Style& StyleOf(GraphRole role) {
  return kRoles[static_cast<size_t>(role)];
}
const Style& StyleOf(program::Part part) {
  return kParts[static_cast<size_t>(part)];
}

struct Lettering {
  double size = kGraphSmallText;
  bool bold = false;
  const char* colour = kInk;
  bool at_end = false;  // true: x is the right end of the text
};

std::string Text(double x, double y, const std::string& text, const Lettering& lettering) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" fill=\"%s\"%s%s>%s</text>\n", x, y,
                         lettering.size, lettering.colour, lettering.bold ? " font-weight=\"bold\"" : "",
                         lettering.at_end ? " text-anchor=\"end\"" : "", EscapeHtml(text));
}

std::string Rectangle(const GraphSpot& spot, double round, const Style& style, const std::string& more = "") {
  return absl::StrFormat(
      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%g\" fill=\"%s\" stroke=\"%s\"%s/>\n", spot.x,
      spot.y, spot.width, spot.height, round, style.fill, style.line, more);
}

std::string WirePath(const GraphWire& wire, double width) {
  std::string path;
  for (const GraphPoint& point : wire) {
    absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : " L", point.x, point.y);
  }
  return absl::StrFormat(
      "<path class=\"wire\" d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\" "
      "marker-end=\"url(#arrow)\"/>\n",
      path, kWireInk, width);
}

std::string Port(const GraphNode& node, const GraphSpot& spot) {
  const double line = spot.y + kGraphLine + 0.5;
  return absl::StrCat("<g class=\"port\">\n", Rectangle(spot, spot.height / 2, StyleOf(node.role)),
                      Text(spot.x + kGraphPadding, line, node.kind, {kGraphText, true}),
                      Text(spot.right() - kGraphPadding, line, node.shape, {.colour = kFaintInk, .at_end = true}),
                      "</g>\n");
}

std::string Box(const GraphNode& node, const GraphSpot& spot) {
  if (node.role == GraphRole::kPort) return Port(node, spot);
  const double left = spot.x + kGraphPadding, right = spot.right() - kGraphPadding;
  const double first = spot.y + kGraphLine, second = first + kGraphLine, third = second + kGraphLine;
  std::string svg =
      absl::StrCat("<g class=\"operator\" data-name=\"", EscapeHtml(node.name), "\" data-kind=\"", node.kind,
                   "\" data-macs=\"", node.macs, "\">\n<title>", EscapeHtml(node.name),
                   node.macs == 0 ? "" : ": " + WithSeparators(node.macs) + " multiply-adds", "</title>\n",
                   Rectangle(spot, 5, StyleOf(node.role)), Text(left, first, node.kind, {kGraphText, true}));
  if (!node.note.empty()) absl::StrAppend(&svg, Text(right, first, node.note, {.at_end = true}));
  absl::StrAppend(&svg, Text(left, second, node.name, {.colour = kFaintInk}));
  if (node.macs == 0) {
    absl::StrAppend(&svg, Text(right, second, node.shape, {.at_end = true}));
  } else {
    absl::StrAppend(&svg, Text(left, third, node.shape, {}),
                    Text(right, third, GraphCount(node.macs), {.bold = true, .at_end = true}));
  }
  return svg + "</g>\n";
}

// Draws a panel that stands for several blocks as a stack of cards.
std::string Cards(const GraphPanel& panel, const GraphSpot& spot) {
  std::string svg;
  for (int card = std::min(panel.depth() - 1, 2); card >= 0; --card) {
    GraphSpot behind = spot;
    behind.x += 4.0 * card;
    behind.y += 4.0 * card;
    svg += Rectangle(behind, 10, StyleOf(panel.part));
  }
  return svg;
}

std::string PanelSvg(const GraphPanel& panel, const GraphPanelPlan& plan) {
  const GraphSpot& spot = plan.spot;
  const double left = spot.x + kGraphPadding + 6, right = spot.right() - kGraphPadding - 6;
  std::string svg =
      absl::StrCat("<g class=\"panel\" data-part=\"", PartName(panel.part), "\" data-depth=\"", panel.depth(),
                   "\" data-blocks=\"", EscapeHtml(absl::StrJoin(panel.blocks, " ")), "\">\n", Cards(panel, spot),
                   Text(left, spot.y + 22, GraphPanelTitle(panel), {kGraphText + 2, true}),
                   Text(left, spot.y + 38, GraphPanelNote(panel), {.colour = kFaintInk}));
  if (panel.depth() > 1) {
    absl::StrAppend(&svg, Text(right, spot.y + 27, GraphPanelDepth(panel), {kGraphText + 4, true, "#0b5394", true}));
  }
  for (const GraphWire& wire : plan.branches) svg += WirePath(wire, 1.3);
  for (const GraphWire& wire : plan.trunk) svg += WirePath(wire, 2.4);
  for (size_t i = 0; i < panel.nodes.size(); ++i) svg += Box(panel.nodes[i], plan.nodes[i]);
  return svg + "</g>\n";
}

std::string Legend(double y) {
  std::string svg = "<g class=\"legend\">\n";
  double x = kGraphMargin;
  const auto entry = [&](const Style& style, double round) {
    svg += Rectangle({x, y - 12, 22, 16}, round, style);
    svg += Text(x + 29, y, style.meaning, {});
    x += 29 + GraphTextWidth(style.meaning, kGraphSmallText, false) + 16;
  };
  for (const Style& part : kParts) entry(part, 3);
  x += 14;
  for (size_t role = 1; role < kRoles.size(); ++role) entry(kRoles[role], 3);
  return svg + "</g>\n";
}

// Returns the width of the longest line above the panels.
double HeadingWidth(const Graph& graph) {
  return 2 * kGraphMargin + std::max({GraphTextWidth(graph.title, 22, true), GraphTextWidth(graph.subtitle, 13, false),
                                      GraphTextWidth(graph.caption, kGraphSmallText, false), 1120.0});
}

}  // namespace

std::string GraphSvg(const Graph& graph) {
  const GraphPlan plan = PlanOf(graph.panels, kTop);
  const double width = std::max(plan.width, HeadingWidth(graph));
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n<title>%s</title>\n"
      "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" "
      "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.8 L8 4 L0 7.2 z\" fill=\"%s\"/></marker></defs>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      width, plan.height, width, plan.height, EscapeHtml(graph.title), kWireInk);
  svg += Text(kGraphMargin, 40, graph.title, {22, true});
  svg += Text(kGraphMargin, 64, graph.subtitle, {.size = 13});
  svg += Text(kGraphMargin, 86, graph.caption, {.colour = kFaintInk});
  svg += Legend(116);
  for (size_t i = 0; i < graph.panels.size(); ++i) svg += PanelSvg(graph.panels[i], plan.panels[i]);
  for (const GraphWire& wire : plan.flow) svg += WirePath(wire, 2.4);
  return svg + "</svg>\n";
}

}  // namespace vitrine
