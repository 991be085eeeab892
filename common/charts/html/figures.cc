// SPDX-License-Identifier: Apache-2.0
#include "common/charts/html/figures.h"

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/file/replace.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Converts a title to a file name: "Loss of every epoch" to "loss-of-every-epoch".
std::string FileNameOf(std::string_view title) {
  std::string name;
  for (const char c : title) {
    if (absl::ascii_isalnum(c)) {
      name += absl::ascii_tolower(c);
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  return std::string(absl::StripSuffix(name, "-"));
}

// Replaces the page's colour variables by their fallback values: "var(--ink,#1f2933)" by "#1f2933".
std::string WithPlainColours(std::string_view svg) {
  std::string plain;
  for (size_t variable; (variable = svg.find("var(--")) != std::string_view::npos;) {
    const size_t comma = svg.find(',', variable), end = svg.find(')', variable);
    plain += svg.substr(0, variable);
    if (end != std::string_view::npos && comma < end) {
      plain += svg.substr(comma + 1, end - comma - 1);
      svg.remove_prefix(end + 1);
    } else {  // "var(--" in a text of the chart is not a colour
      plain += "var(--";
      svg.remove_prefix(variable + 6);
    }
  }
  return plain.append(svg);
}

// Returns the text between `begin` and `end`; "" if either is missing.
std::string_view Between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t from = text.find(begin);
  if (from == std::string_view::npos) return "";
  text.remove_prefix(from + begin.size());
  const size_t to = text.find(end);
  return to == std::string_view::npos ? "" : text.substr(0, to);
}

// Returns the charts of an HtmlPage as standalone SVG documents by file name. Omits charts without a title.
std::map<std::string, std::string> FiguresOf(std::string_view page) {
  constexpr std::string_view kSvg = "<svg xmlns", kSvgEnd = "</svg>\n", kImage = "<img class=\"chart\"",
                             kImageEnd = "\">";
  std::map<std::string, std::string> figures;
  for (std::string_view rest = page; !Between(rest, kSvg, kSvgEnd).empty();) {
    rest.remove_prefix(rest.find(kSvg));
    const std::string_view svg = rest.substr(0, rest.find(kSvgEnd) + kSvgEnd.size());
    figures[FileNameOf(Between(svg, "aria-label=\"", "\""))] = WithPlainColours(svg);
    rest.remove_prefix(svg.size());
  }
  for (std::string_view rest = page; !Between(rest, kImage, kImageEnd).empty();) {
    rest.remove_prefix(rest.find(kImage) + kImage.size());
    const std::string_view image = rest.substr(0, rest.find(kImageEnd) + 1);
    std::string svg;
    const std::string encoded(Between(image, "src=\"data:image/svg+xml;base64,", "\""));
    if (absl::Base64Unescape(encoded, &svg)) {
      figures[FileNameOf(Between(image, "alt=\"", "\""))] = svg;
    }
  }
  figures.erase("");
  return figures;
}

}  // namespace

void RemovePage(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::filesystem::path folder = file.parent_path() / "figures";
  std::error_code ignored;
  for (const auto& [name, svg] : FiguresOf(page)) std::filesystem::remove(folder / (name + ".svg"), ignored);
  std::filesystem::remove(folder, ignored);  // removes the folder only if it is empty
  std::filesystem::remove(file, ignored);
}

absl::Status WritePage(const std::filesystem::path& file, std::string_view page) {
  RETURN_IF_ERROR(ReplaceFile(file, page));
  const std::filesystem::path folder = file.parent_path() / "figures";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::FailedPreconditionError(absl::StrCat(folder.string(), ": ", error.message()));
  for (const auto& [name, svg] : FiguresOf(page)) RETURN_IF_ERROR(ReplaceFile(folder / (name + ".svg"), svg));
  return absl::OkStatus();
}

}  // namespace vitrine
