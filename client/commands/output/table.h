// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_OUTPUT_TABLE_H_
#define VITRINE_CLIENT_COMMANDS_OUTPUT_TABLE_H_

#include <string>
#include <vector>

#include "client/commands/output/terminal.h"

namespace vitrine {

enum class Style { kPlain, kStrong, kFaint, kLink };

// A piece of text that is never split over lines; printable (see text.h).
struct Item {
  std::string text;
  Style style = Style::kPlain;
};

struct Column {
  std::string header;
  int width = 0;  // terminal columns; for the flowing column, its width without wrapping
  enum class Align { kLeft, kRight } align = Align::kLeft;
};

struct Row {
  std::vector<Item> cells = {};  // one per column; that of the flowing column is unused
  std::vector<Item> flow = {};   // items of the flowing column, two spaces apart, wrapped to its width
  std::vector<Item> notes = {};  // below the row, each on its own lines; words are not split
};

// Text in columns that fits a page, rendered row by row, so that the first row can be shown before the last is known.
//
// One column flows: it takes the remaining width and wraps its items. If that is less than half of its full width and
// less than kLeastFlow, the table stacks: the first cell on its own line, below it the others in order, each after its
// header.
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
  // Returns the item padded to its column; the first column also cuts, others may overflow.
  std::string Cell(size_t column, Item item) const;

  const Page page_;
  std::vector<Column> columns_;
  const size_t flow_;
  bool stacked_ = false;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_OUTPUT_TABLE_H_
