// SPDX-License-Identifier: Apache-2.0
#include "common/charts/html/html.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/charts/html/html_style.h"

namespace vitrine {

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // HTML does not allow control characters.
        escaped += static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return escaped;
}

std::string DataUri(std::string_view mime_type, std::string_view bytes) {
  return absl::StrCat("data:", std::string(mime_type), ";base64,",
                      absl::Base64Escape(absl::string_view(bytes.data(), bytes.size())));
}

HtmlPage::HtmlPage(std::string title, std::string subtitle)
    : title_(std::move(title)), subtitle_(std::move(subtitle)) {}

void HtmlPage::Section(std::string_view title, std::string_view note) {
  const std::string id = absl::StrCat("s", ++sections_);
  absl::StrAppend(&contents_, "<a href=\"#", id, "\">", EscapeHtml(title), "</a>\n");
  absl::StrAppend(&body_, "<h2 id=\"", id, "\">", EscapeHtml(title), "</h2>\n");
  if (!note.empty()) absl::StrAppend(&body_, "<p class=\"note\">", EscapeHtml(note), "</p>\n");
}

void HtmlPage::Paragraph(std::string_view text) {
  absl::StrAppend(&body_, "<p>", EscapeHtml(text), "</p>\n");
}

// Writes a table. For screen readers, the headers have a scope and the table has a caption.
void HtmlPage::Table(const HtmlTable& table) {
  const auto cell = [&](const char* element, const char* attributes, size_t column, const std::string& text) {
    const bool right = column < table.columns.size() && table.columns[column].right;
    absl::StrAppend(&body_, "<", element, attributes, right ? " class=\"right\">" : ">", EscapeHtml(text), "</",
                    element, ">");
  };
  body_ += "<div class=\"scroll\"><table";
  if (!table.caption.empty()) {
    absl::StrAppend(&body_, ">\n<caption>", EscapeHtml(table.caption), "</caption>\n");
  } else {
    absl::StrAppend(&body_, sections_ == 0 ? "" : absl::StrCat(" aria-labelledby=\"s", sections_, "\""), ">\n");
  }
  const bool headed = std::ranges::any_of(table.columns, [](const auto& column) { return !column.heading.empty(); });
  if (headed) {
    body_ += "<thead><tr>";
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::string& heading = table.columns[i].heading;
      cell(heading.empty() ? "td" : "th", heading.empty() ? "" : " scope=\"col\"", i, heading);
    }
    body_ += "</tr></thead>\n";
  }
  body_ += "<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    body_ += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) cell(i == 0 ? "th" : "td", i == 0 ? " scope=\"row\"" : "", i, row[i]);
    body_ += "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlPage::KeyFigures(const std::vector<KeyFigure>& figures) {
  body_ += "<div class=\"figures\">\n";
  for (const KeyFigure& figure : figures) {
    absl::StrAppend(&body_, "<div><span>", EscapeHtml(figure.name), "</span><b>", EscapeHtml(figure.value), "</b>",
                    figure.note.empty() ? "" : absl::StrCat("<span>", EscapeHtml(figure.note), "</span>"), "</div>\n");
  }
  body_ += "</div>\n";
}

void HtmlPage::Cards(const std::vector<ImageCard>& cards) {
  size_t widest = 1;
  for (const ImageCard& card : cards) widest = std::max(widest, card.images.size());
  absl::StrAppend(&body_, "<div class=\"cards\" style=\"--card-width:min(100%,", 3 + 8 * widest, "rem)\">\n");
  for (const ImageCard& card : cards) {
    body_ += "<div><div class=\"images\">";
    for (const ImageCard::Tile& image : card.images) {
      absl::StrAppend(&body_, "<figure><img alt=\"", EscapeHtml(image.caption), "\"",
                      image.pixels ? " class=\"pixels\"" : "", " src=\"", EscapeHtml(image.uri), "\"><figcaption>",
                      EscapeHtml(image.caption), "</figcaption></figure>");
    }
    body_ += "</div>";
    for (const std::string& line : card.lines) absl::StrAppend(&body_, "<p>", EscapeHtml(line), "</p>");
    body_ += "</div>\n";
  }
  body_ += "</div>\n";
}

void HtmlPage::Charts(const std::vector<std::string>& markup) {
  body_ += "<div class=\"charts\">\n";
  for (const std::string& chart : markup) absl::StrAppend(&body_, "<div>", chart, "</div>\n");
  body_ += "</div>\n";
}

void HtmlPage::Folded(std::string_view title, std::string_view text) {
  absl::StrAppend(&body_, "<details><summary>", EscapeHtml(title), "</summary><pre>", EscapeHtml(text),
                  "</pre></details>\n");
}

std::string HtmlPage::Print() const {
  return absl::StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\">\n<title>",
      EscapeHtml(title_), "</title>\n<style>", kHtmlStyle, "</style>\n</head>\n<body>\n<h1>", EscapeHtml(title_),
      "</h1>\n<p class=\"subtitle\">", EscapeHtml(subtitle_), "</p>\n<nav>\n", contents_, "</nav>\n", body_,
      "</body>\n</html>\n");
}

}  // namespace vitrine
