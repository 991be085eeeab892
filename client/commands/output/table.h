// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_TABLE_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_TABLE_H_

#include <string>
#include <vector>

#include "client/commands/output/terminal.h"

namespace vitrine {

enum class Style { kPlain, kStrong, kFaint, kLink };

// Printable text (see text.h) that is never split over lines.
struct Item {
  std::string text;
  Style style = Style::kPlain;
};

struct Column {
  std::string header;
  int width = 0;  // terminal columns; for the flowing column (see Table), its width without wrapping
  enum class Align { kLeft, kRight } align = Align::kLeft;
};

struct Row {
  std::vector<Item> cells = {};  // one per column; unused for the flowing column
  std::vector<Item> flow = {};   // items of the flowing column, two spaces apart, wrapped to its width
  std::vector<Item> notes = {};  // lines below the row, one or more per item; words are not split
};

// A table that fits the page's width. It is rendered row by row, so the first row can be shown before the last row is
// known.
//
// One column flows: it takes the remaining width and wraps its items. If the remaining width is less than kLeastFlow
// and less than half of the column's full width, the cells are stacked. Then the first cell has its own line, and the
// other cells follow in the lines below, each after its column's header.
class Table {
 public:
  static constexpr int kLeastFlow = 20;

  // Requires flow_column >= 1.
  Table(const Page& page, std::vector<Column> columns, size_t flow_column);

  std::string Header() const;
  std::string Render(const Row& row) const;

 private:
  std::string InColumns(const Row& row) const;
  std::string Stacked(const Row& row) const;
  std::string Note(const Item& note, int margin) const;
  std::string Paint(const Item& item) const;
  std::string PaintLine(const std::vector<Item>& line) const;
  // Pads the item to the column's width. In the first column, longer text is cut; in other columns, it overflows.
  std::string Cell(size_t column, Item item) const;

  const Page page_;
  std::vector<Column> columns_;
  const size_t flow_;
  bool stacked_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_TABLE_H_
