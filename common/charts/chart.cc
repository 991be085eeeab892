// SPDX-License-Identifier: Apache-2.0
#include "common/charts/chart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/html/html.h"

namespace vitrine {

namespace {

constexpr double kMostTitleLeft = 64;  // maximum x of the title's start; the plot may start further right

std::string Faint() {
  return absl::StrCat("style=\"fill:", ColourOf("faint"), "\"");
}

// Returns ticks as position and label: the names of the axis if it has any, otherwise round values, about `apart`
// pixels from each other.
std::vector<std::pair<double, std::string>> TicksOf(const Axis& axis, const std::vector<std::string>& names,
                                                    double apart) {
  std::vector<std::pair<double, std::string>> ticks;
  for (size_t i = 0; i < names.size(); ++i) ticks.emplace_back(static_cast<double>(i), names[i]);
  if (!ticks.empty()) return ticks;
  const int most = std::max(2, static_cast<int>(std::abs(axis.to - axis.from) / apart));
  for (const double tick : axis.Ticks(most)) ticks.emplace_back(tick, TickText(tick));
  return ticks;
}

// Returns the name of an axis for display, with "logarithmic" added for a logarithmic axis.
std::string NameOf(const Axis& axis, const std::string& name) {
  return axis.logarithmic && !name.empty() ? name + ", logarithmic" : name;
}

}  // namespace

std::string ColourOf(const std::string& name) {
  static constexpr std::pair<const char*, const char*> kLight[] = {
      {"series-0", "#0072b2"}, {"series-1", "#d55e00"}, {"series-2", "#009e73"}, {"series-3", "#a9418a"},
      {"series-4", "#b07d00"}, {"series-5", "#6b7280"}, {"ink", "#1f2933"},      {"faint", "#5f6b7a"},
      {"line", "#dfe3e8"},     {"paper", "#ffffff"},    {"bad", "#b3261e"}};
  for (const auto& [known, colour] : kLight) {
    if (name == known) return absl::StrCat("var(--", name, ",", colour, ")");
  }
  return "currentColor";
}

std::string SvgText(double x, double y, const std::string& text, const std::string& attributes) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes, EscapeHtml(text));
}

std::string SvgLine(double x1, double y1, double x2, double y2, const std::string& style) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

std::string Stroke(const std::string& name) {
  return absl::StrCat("style=\"stroke:", ColourOf(name), "\"");
}

std::string SeriesStroke(int series) {
  return absl::StrCat("class=\"dash-", series, "\" ", Stroke(absl::StrCat("series-", series)));
}

std::string DrawLegend(const std::vector<LegendEntry>& entries, Chart& chart, const std::string& heading) {
  constexpr double kGlyphWidth = 6.8, kLine = 18;
  std::string svg;
  double x = chart.Left(), y = chart.note.empty() ? 38 : 56;
  if (!heading.empty()) {
    svg += SvgText(x, y + 4, heading, "font-weight=\"600\"");
    x += 16 + 1.1 * kGlyphWidth * static_cast<double>(heading.size());
  }
  for (const LegendEntry& entry : entries) {
    const double width = 33 + kGlyphWidth * static_cast<double>(entry.name.size());
    if (x > chart.Left() && x + width > chart.width) x = chart.Left(), y += kLine;
    svg += SvgLine(
        x, y, x + 28, y,
        absl::StrCat("stroke-width=\"3\" ", SeriesStroke(entry.colour), entry.faint ? " stroke-opacity=\"0.35\"" : ""));
    svg += SvgText(x + 33, y + 4, entry.name, "");
    x += width + 16;
  }
  chart.height += y + 16 - chart.top;
  chart.top = y + 16;
  return svg;
}

std::string Chart::Opening() const {
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\" font-size=\"12\" "
      "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" style=\"fill:%s\">\n",
      width, height, EscapeHtml(title), ColourOf("ink"));
  if (is_file) {
    svg.insert(svg.find(" viewBox"), absl::StrFormat(" width=\"%g\" height=\"%g\"", width, height));
    absl::StrAppendFormat(&svg, "<rect width=\"100%%\" height=\"100%%\" style=\"fill:%s\"/>\n", ColourOf("paper"));
  }
  const double at = std::min(left, kMostTitleLeft);
  svg += SvgText(at, 20, title, "font-size=\"15\" font-weight=\"600\"");
  if (!note.empty()) svg += SvgText(at, 38, note, absl::StrCat("font-size=\"11\" ", Faint()));
  return svg;
}

std::string Chart::YTicks() const {
  std::string svg;
  for (const auto& [tick, name] : TicksOf(y, y_names, 37)) {
    const double at = y.Place(tick);
    if (y_names.empty()) svg += SvgLine(Left(), at, Right(), at, Stroke("line"));
    svg += SvgText(Left() - 8, at + 4, name, absl::StrCat(Faint(), " text-anchor=\"end\""));
  }
  return svg;
}

std::string Chart::XTicks() const {
  std::string svg;
  for (const auto& [tick, name] : TicksOf(x, x_names, 67)) {
    const double at = x.Place(tick);
    if (x_grid) svg += SvgLine(at, Top(), at, Bottom(), Stroke("line"));
    svg += SvgLine(at, Bottom(), at, Bottom() + 5, Stroke("faint"));
    if (slanted) {
      absl::StrAppendFormat(&svg,
                            "<text transform=\"translate(%.1f %.1f) rotate(-40)\" text-anchor=\"end\" %s>%s</text>\n",
                            at + 4, Bottom() + 14, Faint(), EscapeHtml(name));
    } else {
      svg += SvgText(at, Bottom() + 19, name, absl::StrCat(Faint(), " text-anchor=\"middle\""));
    }
  }
  return svg;
}

std::string Chart::Begin() {
  if (!x_names.empty()) x = {.low = -0.5, .high = static_cast<double>(x_names.size()) - 0.5};
  if (!y_names.empty()) y = {.low = static_cast<double>(y_names.size()) - 0.5, .high = -0.5};
  x.from = Left(), x.to = Right();
  y.from = Bottom(), y.to = Top();
  std::string svg = Opening() + YTicks() + XTicks();
  svg += SvgLine(Left(), Bottom(), Right(), Bottom(), Stroke("faint"));
  svg +=
      SvgText((Left() + Right()) / 2, height - 10, NameOf(x, x_axis), absl::StrCat(Faint(), " text-anchor=\"middle\""));
  absl::StrAppendFormat(&svg, "<text transform=\"translate(14 %g) rotate(-90)\" text-anchor=\"middle\" %s>%s</text>\n",
                        (Top() + Bottom()) / 2, Faint(), EscapeHtml(NameOf(y, y_axis)));
  return svg;
}

}  // namespace vitrine
