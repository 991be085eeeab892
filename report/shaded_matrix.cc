// SPDX-License-Identifier: Apache-2.0
#include "report/shaded_matrix.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/chart.h"
#include "report/html.h"

namespace vitrine {
namespace {

constexpr size_t kLongestName = 18;
constexpr double kCellGlyph = 6.6;

// At most kLongestName characters; a character of UTF-8 is not cut in two.
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

struct ShadedLayout {
  double cell, left, top, width, height;
};

ShadedLayout Place(const ShadedMatrix& matrix) {
  const double rows = static_cast<double>(matrix.rows.size()), columns = static_cast<double>(matrix.columns.size());
  ShadedLayout at;
  at.cell = std::clamp(560 / std::max(rows, columns), 16.0, 62.0);
  at.left = 34 + LongestName(matrix.rows);
  at.top = 86 + 0.75 * LongestName(matrix.columns);
  // Slanted names reach beyond the last column.
  at.width = std::max(at.left + columns * at.cell + 0.75 * LongestName(matrix.columns),
                      24 + 6.2 * static_cast<double>(std::max(matrix.note.size(), matrix.title.size())));
  at.height = at.top + rows * at.cell + 12;
  return at;
}

void AppendNames(const ShadedMatrix& matrix, const ShadedLayout& at, std::string& svg) {
  for (size_t i = 0; i < matrix.rows.size(); ++i) {
    const double y = at.top + at.cell * (static_cast<double>(i) + 0.5) + 4;
    svg += SvgText(at.left - 6, y, Cut(matrix.rows[i]), "text-anchor=\"end\"");
  }
  for (size_t i = 0; i < matrix.columns.size(); ++i) {
    const double x = at.left + at.cell * (static_cast<double>(i) + 0.5);
    absl::StrAppendFormat(&svg, "<text transform=\"translate(%.1f %.1f) rotate(-40)\">%s</text>\n", x, at.top - 6,
                          EscapeHtml(Cut(matrix.columns[i])));
  }
  const std::string faint = absl::StrCat("style=\"fill:", ColourOf("faint"), "\"");
  svg += SvgText(at.left, 62, matrix.column_axis.empty() ? "" : absl::StrCat(matrix.column_axis, " →"), faint);
  absl::StrAppendFormat(
      &svg, "<text transform=\"translate(14 %.1f) rotate(-90)\" text-anchor=\"middle\" %s>%s</text>\n",
      at.top + at.cell * static_cast<double>(matrix.rows.size()) / 2, faint, EscapeHtml(matrix.row_axis));
}

}  // namespace

std::string DrawShadedMatrix(const ShadedMatrix& matrix) {
  const ShadedLayout at = Place(matrix);
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\" "
      "font-size=\"12\" font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\" style=\"fill:%s\">\n",
      at.width, at.height, EscapeHtml(matrix.title), ColourOf("ink"));
  svg += SvgText(14, 20, matrix.title, "font-size=\"15\" font-weight=\"600\"");
  svg += SvgText(14, 38, matrix.note, absl::StrCat("font-size=\"11\" style=\"fill:", ColourOf("faint"), "\""));
  AppendNames(matrix, at, svg);
  for (size_t i = 0; i < matrix.cells.size(); ++i) {
    const ShadedMatrix::Cell& cell = matrix.cells[i];
    const size_t row = i / matrix.columns.size(), column = i % matrix.columns.size();
    const double x = at.left + at.cell * static_cast<double>(column);
    const double y = at.top + at.cell * static_cast<double>(row);
    const double strength = std::clamp(std::abs(cell.shade), 0.0, 1.0);
    absl::StrAppendFormat(&svg,
                          "<g><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                          "style=\"fill:%s;stroke:%s\" fill-opacity=\"%.3f\"/>",
                          EscapeHtml(cell.tip), x, y, at.cell, at.cell,
                          ColourOf(cell.shade < 0 ? "series-1" : "series-0"), ColourOf("line"), strength);
    const double size = std::min(13.0, 1.5 * at.cell / std::max<double>(2.4, static_cast<double>(cell.text.size())));
    if (!cell.text.empty() && size >= 6) {
      absl::StrAppendFormat(
          &svg, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"middle\" style=\"fill:%s\">%s</text>",
          x + at.cell / 2, y + at.cell / 2 + size * 0.36, size, ColourOf(strength > 0.55 ? "paper" : "ink"),
          EscapeHtml(cell.text));
    }
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace vitrine
