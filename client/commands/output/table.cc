// SPDX-License-Identifier: Apache-2.0
#include "client/commands/output/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/commands/output/text.h"

namespace vitrine {
namespace {

constexpr int kGap = 2;
constexpr int kIndent = 4;

std::string Spaces(int n) {
  return std::string(static_cast<size_t>(std::max(n, 0)), ' ');
}

std::string TableLine(std::string text) {
  absl::StripTrailingAsciiWhitespace(&text);
  return text + "\n";
}

int WidthOf(const std::vector<Item>& line) {
  int width = line.empty() ? 0 : kGap * (static_cast<int>(line.size()) - 1);
  for (const Item& item : line) width += DisplayWidth(item.text);
  return width;
}

// Wraps items into lines of at most `width` columns. Cuts an item that is wider than a line.
std::vector<std::vector<Item>> Fold(const std::vector<Item>& items, int width) {
  std::vector<std::vector<Item>> lines(1);
  for (const Item& item : items) {
    if (!lines.back().empty() && WidthOf(lines.back()) + kGap + DisplayWidth(item.text) > width) lines.emplace_back();
    lines.back().push_back({CutEnd(item.text, width), item.style});
  }
  return lines;
}

}  // namespace

Table::Table(const Page& page, std::vector<Column> columns, size_t flow_column)
    : page_(page), columns_(std::move(columns)), flow_(flow_column) {
  for (Column& column : columns_) column.width = std::max(column.width, DisplayWidth(column.header));
  int left = page_.width - kGap * (static_cast<int>(columns_.size()) - 1);
  for (size_t i = 0; i < columns_.size(); ++i) left -= i == flow_ ? 0 : columns_[i].width;
  Column& flow = columns_[flow_];
  stacked_ = left < std::min((flow.width + 1) / 2, kLeastFlow);
  flow.width = std::min(std::max(left, 1), flow.width);
}

std::string Table::Header() const {
  if (stacked_) return "";
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    line += (i == 0 ? "" : Spaces(kGap)) + Cell(i, {columns_[i].header, Style::kFaint});
  }
  return TableLine(line);
}

std::string Table::Render(const Row& row) const {
  return stacked_ ? Stacked(row) : InColumns(row);
}

std::string Table::InColumns(const Row& row) const {
  const auto lines = Fold(row.flow, columns_[flow_].width);
  std::string first, margin;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) first += Spaces(kGap);
    if (i < flow_) margin += Spaces(columns_[i].width + kGap);
    first += i == flow_ ? PaintLine(lines[0]) + Spaces(columns_[i].width - WidthOf(lines[0])) : Cell(i, row.cells[i]);
  }
  std::string result = TableLine(first);
  for (size_t i = 1; i < lines.size(); ++i) result += TableLine(margin + PaintLine(lines[i]));
  for (const Item& note : row.notes) result += Note(note, static_cast<int>(margin.size()));
  return result;
}

std::string Table::Stacked(const Row& row) const {
  const int width = std::max(1, page_.width - kIndent);
  std::string result = TableLine(Paint({CutStart(row.cells[0].text, page_.width), row.cells[0].style}));
  const auto add = [&](const std::vector<Item>& items) {
    if (items.empty()) return;
    for (const auto& line : Fold(items, width)) result += TableLine(Spaces(kIndent) + PaintLine(line));
  };
  std::vector<Item> others;
  for (size_t i = 1; i < columns_.size(); ++i) {
    if (i == flow_) {
      add(std::exchange(others, {}));
      std::vector<Item> flow = row.flow;
      // The header is left out if the flowing column comes directly after the first cell.
      if (i > 1 && !flow.empty()) flow.front().text = absl::StrCat(columns_[i].header, " ", flow.front().text);
      add(flow);
    } else if (!row.cells[i].text.empty()) {
      others.push_back({absl::StrCat(columns_[i].header, " ", row.cells[i].text), row.cells[i].style});
    }
  }
  add(others);
  for (const Item& note : row.notes) result += Note(note, kIndent);
  return result;
}

std::string Table::Note(const Item& note, int margin) const {
  if (margin + DisplayWidth(note.text) <= page_.width) return TableLine(Spaces(margin) + Paint(note));
  std::string result, line;
  for (const absl::string_view word : absl::StrSplit(note.text, ' ', absl::SkipEmpty())) {
    const bool full = !line.empty() && kIndent + DisplayWidth(line) + 1 + DisplayWidth(word) > page_.width;
    if (full) result += TableLine(Spaces(kIndent) + Paint({std::exchange(line, ""), note.style}));
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  return result + TableLine(Spaces(kIndent) + Paint({line, note.style}));
}

std::string Table::Paint(const Item& item) const {
  if (!page_.colour || item.style == Style::kPlain) return item.text;
  const char* code = item.style == Style::kStrong ? "1" : item.style == Style::kFaint ? "2" : "36";
  return absl::StrCat("\x1b[", code, "m", item.text, "\x1b[0m");
}

std::string Table::PaintLine(const std::vector<Item>& line) const {
  std::string result;
  for (const Item& item : line) absl::StrAppend(&result, result.empty() ? "" : Spaces(kGap), Paint(item));
  return result;
}

std::string Table::Cell(size_t column, Item item) const {
  const Column& where = columns_[column];
  // The first cell is often a path. It is cut at its start, because its end identifies it. Other cells are never cut.
  if (column == 0) item.text = CutStart(item.text, where.width);
  const std::string padding = Spaces(where.width - DisplayWidth(item.text));
  return where.align == Column::Align::kRight ? padding + Paint(item) : Paint(item) + padding;
}

}  // namespace vitrine
