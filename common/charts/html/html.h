// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HTML_HTML_H_
#define VITRINE_COMMON_CHARTS_HTML_HTML_H_

#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Escapes `text` for HTML text and for attribute values in double quotes.
std::string EscapeHtml(std::string_view text);

// Returns "data:image/png;base64,...".
std::string DataUri(std::string_view mime_type, std::string_view bytes);

struct HtmlTable {
  struct Column {
    std::string heading;
    bool right = false;  // true: right-aligned, for numbers
  };
  std::vector<Column> columns = {};
  std::vector<std::vector<std::string>> rows = {};  // one cell per column; the first cell names the row
  std::string caption = {};                         // title of the table; empty: the section's title
};

// A number shown prominently.
struct KeyFigure {
  std::string name;   // "test top1"
  std::string value;  // "76.41 %"
  std::string note;   // "at epoch 6, 10,000 images"; may be empty
};

// Images side by side, with lines of text below them.
struct ImageCard {
  struct Tile {
    std::string uri;
    std::string caption;
    bool pixels = false;  // true: the image is enlarged without smoothing
  };
  std::vector<Tile> images = {};
  std::vector<std::string> lines = {};
};

// A self-contained page: no script, no external resources, light or dark colours as in the reader's system settings.
// Text is escaped, except the argument of Add.
class HtmlPage {
 public:
  HtmlPage(std::string title, std::string subtitle);

  // Adds a heading, listed in the table of contents. `note` is shown below the heading; it may be empty.
  void Section(std::string_view title, std::string_view note = "");
  void Paragraph(std::string_view text);
  void Table(const HtmlTable& table);
  void KeyFigures(const std::vector<KeyFigure>& figures);
  void Cards(const std::vector<ImageCard>& cards);
  // Adds charts (SVG documents or <img> elements), side by side if there is room.
  void Charts(const std::vector<std::string>& markup);
  // Adds monospaced text that is collapsed under `title`.
  void Folded(std::string_view title, std::string_view text);
  void Add(std::string_view markup) { body_ += markup; }

  std::string Print() const;

 private:
  const std::string title_;
  const std::string subtitle_;
  std::string contents_;
  std::string body_;
  int sections_ = 0;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HTML_HTML_H_
