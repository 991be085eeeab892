// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_TABLE_H_
#define VITRINE_CLIENT_TABLE_H_

#include <string>
#include <vector>

#include "client/terminal.h"

namespace vitrine {

enum class Style { kPlain, kStrong, kFaint, kLink };

// A piece of text that is never broken over lines; printable (see text.h).
struct Item {
  std::string text;
  Style style = Style::kPlain;
};

struct Column {
  std::string header;
  int width = 0;  // columns of the terminal; of the flowing column, what it needs for one line
  enum class Align { kLeft, kRight } align = Align::kLeft;
};

struct Row {
  std::vector<Item> cells = {};  // one per column, that of the flowing column unused
  std::vector<Item> flow = {};   // the flowing column's items, two spaces apart, folded to its width
  std::vector<Item> notes = {};  // below, each on lines of its own; words are never cut
};

// Text in columns that fits a page, row by row, so that the first row can be shown before the last is known.
//
// One column flows: it takes the width that the others leave and folds its items into it. Where less than half of what
// it needs, and less than kLeastFlow, is left, the table stacks: the first cell on a line of its own, below it the
// others in their order, each behind its header.
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
  // The item padded to its column; in the first column also cut, in the others it may stick out.
  std::string Cell(size_t column, Item item) const;

  const Page page_;
  std::vector<Column> columns_;
  const size_t flow_;
  bool stacked_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_TABLE_H_
