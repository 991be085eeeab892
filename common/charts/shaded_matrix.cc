// SPDX-License-Identifier: Apache-2.0
#include "common/charts/shaded_matrix.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/html/html.h"

namespace vitrine {
namespace {

constexpr size_t kLongestName = 18;
constexpr double kCellGlyph = 6.6;

// Cuts the name to at most kLongestName characters, never within a UTF-8 character.
std::string Cut(const std::string& name) {
  size_t characters = 0, end = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(name[i]) & 0xc0) != 0x80;
    if (starts && ++characters == kLongestName) end = i;
  }
  return characters <= kLongestName ? name : name.substr(0, end) + "…";
}

double LongestName(const std::vector<std::string>& names) {
  size_t longest = 1;
  for (const std::string& name : names) longest = std::max(longest, std::min(name.size(), kLongestName));
  return kCellGlyph * static_cast<double>(longest);
}

void AppendCell(const ShadedMatrix::Cell& cell, size_t row, size_t column, const Chart& chart, std::string& svg) {
  const double x = chart.x.Place(static_cast<double>(column) - 0.5),
               side = chart.x.Place(static_cast<double>(column) + 0.5) - x;
  const double y = chart.y.Place(static_cast<double>(row) - 0.5);
  const double strength = std::clamp(std::abs(cell.shade), 0.0, 1.0);
  absl::StrAppendFormat(&svg,
                        "<g><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                        "style=\"fill:%s;stroke:%s\" fill-opacity=\"%.3f\"/>",
                        EscapeHtml(cell.tip), x, y, side, side, ColourOf(cell.shade < 0 ? "series-1" : "series-0"),
                        ColourOf("line"), strength);
  const double size = std::min(13.0, 1.5 * side / std::max<double>(2.4, static_cast<double>(cell.text.size())));
  if (!cell.text.empty() && size >= 6) {
    absl::StrAppendFormat(
        &svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"middle\" style=\"fill:%s\">%s</text>",
        x + side / 2, y + side / 2 + size * 0.36, size, ColourOf(strength > 0.55 ? "paper" : "ink"),
        EscapeHtml(cell.text));
  }
  svg += "</g>\n";
}

}  // namespace

Chart FrameOf(const ShadedMatrix& matrix, double side) {
  Chart chart{.title = matrix.title, .x_axis = matrix.column_axis, .y_axis = matrix.row_axis, .note = matrix.note};
  for (const std::string& row : matrix.rows) chart.y_names.push_back(Cut(row));
  for (const std::string& column : matrix.columns) chart.x_names.push_back(Cut(column));
  const double rows = static_cast<double>(matrix.rows.size()), columns = static_cast<double>(matrix.columns.size());
  const double cell = std::clamp(side / std::max(rows, columns), 16.0, 62.0);
  const double below = LongestName(matrix.columns);
  // names that are wider than a cell are slanted
  chart.slanted = below > cell - 6;
  chart.left = 34 + LongestName(matrix.rows);
  if (chart.slanted) {
    // the first slanted name extends beyond its column
    chart.left = std::max(chart.left, 24 + 0.77 * below - cell / 2);
    chart.foot += 0.65 * below;
  }
  chart.top = matrix.note.empty() ? 36 : 52;
  const double words =
      82 + std::max(6.2 * static_cast<double>(matrix.note.size()), 8.2 * static_cast<double>(matrix.title.size()));
  chart.width = std::max(chart.left + columns * cell + chart.margin, words);
  chart.margin = chart.width - chart.left - columns * cell;
  chart.height = chart.top + rows * cell + chart.foot;
  return chart;
}

std::string DrawShadedMatrix(const ShadedMatrix& matrix) {
  Chart chart = FrameOf(matrix);
  std::string svg = chart.Begin();
  for (size_t i = 0; i < matrix.cells.size(); ++i) {
    AppendCell(matrix.cells[i], i / matrix.columns.size(), i % matrix.columns.size(), chart, svg);
  }
  return svg + Chart::End();
}

}  // namespace vitrine
