// SPDX-License-Identifier: Apache-2.0
#include "report/chart.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/html.h"

namespace vitrine {

std::string ColourOf(const std::string& name) {
  static constexpr std::pair<const char*, const char*> kLight[] = {
      {"series-0", "#0072b2"}, {"series-1", "#d55e00"}, {"series-2", "#009e73"}, {"series-3", "#a9418a"},
      {"series-4", "#b07d00"}, {"series-5", "#6b7280"}, {"ink", "#1f2933"},      {"faint", "#5f6b7a"},
      {"line", "#dfe3e8"},     {"paper", "#ffffff"}};
  for (const auto& [known, colour] : kLight) {
    if (name == known) return absl::StrCat("var(--", name, ",", colour, ")");
  }
  return "currentColor";
}

std::string SvgText(double x, double y, const std::string& text, const std::string& attributes) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, attributes, EscapeHtml(text));
}

std::string DrawLegend(const std::vector<LegendEntry>& entries, Chart& chart) {
  constexpr double kGlyphWidth = 6.8, kLine = 18;
  std::string svg;
  double x = chart.Left(), y = 38;
  for (const LegendEntry& entry : entries) {
    const double width = 23 + kGlyphWidth * static_cast<double>(entry.name.size());
    if (x > chart.Left() && x + width > chart.width) x = chart.Left(), y += kLine;
    absl::StrAppendFormat(
        &svg, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\" stroke-width=\"3\" style=\"stroke:%s\"%s/>\n", x,
        x + 18, y, y, ColourOf(absl::StrCat("series-", entry.colour)), entry.faint ? " stroke-opacity=\"0.35\"" : "");
    svg += SvgText(x + 23, y + 4, entry.name, "");
    x += width + 16;
  }
  chart.height += y + 16 - chart.top;
  chart.top = y + 16;
  return svg;
}

std::vector<std::pair<double, std::string>> Chart::XTicks() const {
  std::vector<std::pair<double, std::string>> ticks;
  for (size_t i = 0; i < x_names.size(); ++i) ticks.emplace_back(static_cast<double>(i), x_names[i]);
  if (!ticks.empty()) return ticks;
  for (const double tick : x.Ticks(8)) ticks.emplace_back(tick, TickText(tick));
  return ticks;
}

std::string Chart::Begin() {
  if (!x_names.empty()) x = {.low = -0.5, .high = static_cast<double>(x_names.size()) - 0.5};
  x.from = Left(), x.to = Right();
  y.from = Bottom(), y.to = Top();
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\" font-size=\"12\" "
      "font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" style=\"fill:%s\">\n",
      width, height, EscapeHtml(title), ColourOf("ink"));
  if (is_file) {
    svg.insert(svg.find(" viewBox"), absl::StrFormat(" width=\"%g\" height=\"%g\"", width, height));
    absl::StrAppendFormat(&svg, "<rect width=\"100%%\" height=\"100%%\" style=\"fill:%s\"/>\n", ColourOf("paper"));
  }
  svg += SvgText(Left(), 20, title, "font-size=\"15\" font-weight=\"600\"");
  const std::string faint = absl::StrCat("style=\"fill:", ColourOf("faint"), "\"");
  for (const double tick : y.Ticks(6)) {
    absl::StrAppendFormat(&svg, "<line x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\" style=\"stroke:%s\"/>\n", Left(),
                          Right(), y.Place(tick), y.Place(tick), ColourOf("line"));
    svg += SvgText(Left() - 8, y.Place(tick) + 4, TickText(tick), absl::StrCat(faint, " text-anchor=\"end\""));
  }
  for (const auto& [tick, name] : XTicks()) {
    absl::StrAppendFormat(&svg, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\" style=\"stroke:%s\"/>\n",
                          x.Place(tick), x.Place(tick), Bottom(), Bottom() + 5, ColourOf("faint"));
    svg += SvgText(x.Place(tick), Bottom() + 19, name, absl::StrCat(faint, " text-anchor=\"middle\""));
  }
  absl::StrAppendFormat(&svg, "<line x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\" style=\"stroke:%s\"/>\n", Left(), Right(),
                        Bottom(), Bottom(), ColourOf("faint"));
  svg += SvgText((Left() + Right()) / 2, Bottom() + 40, x_axis, absl::StrCat(faint, " text-anchor=\"middle\""));
  absl::StrAppendFormat(&svg, "<text transform=\"translate(14 %g) rotate(-90)\" text-anchor=\"middle\" %s>%s</text>\n",
                        (Top() + Bottom()) / 2, faint, EscapeHtml(y_axis));
  return svg;
}

}  // namespace vitrine
