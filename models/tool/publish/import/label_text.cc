// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/label_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"
#include "models/tool/publish/import/config_labels.h"

namespace vitrine {
namespace {

using Lines = std::vector<std::string>;

Lines TrimmedLines(std::string_view text) {
  Lines lines;
  for (const absl::string_view line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    lines.emplace_back(WithoutBlanks({line.data(), line.size()}));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

absl::Status OutOfOrder(int64_t number, size_t expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("has a number before every label, but ", number, " where ", expected,
                   " is expected; the numbers must be those of the classes, from 0 on and "
                   "in order, or give the labels without numbers"));
}

// Parses Python literals that are lists of classes.
class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : rest_(text) {}

  // Reads "{0: 'a', 1: 'b'}" or "['a', 'b']". Returns nullopt for anything else.
  std::optional<std::vector<std::pair<int64_t, std::string>>> Read() {
    const bool numbered = Take('{');
    if (!numbered && !Take('[')) return std::nullopt;
    const char close = numbered ? '}' : ']';
    std::vector<std::pair<int64_t, std::string>> entries;
    while (!Take(close)) {
      const std::optional<int64_t> number = numbered ? Number() : static_cast<int64_t>(entries.size());
      if (!number.has_value() || (numbered && !Take(':'))) return std::nullopt;
      std::optional<std::string> label = String();
      if (!label.has_value()) return std::nullopt;
      entries.emplace_back(*number, *std::move(label));
      if (Take(',')) continue;
      if (!Take(close)) return std::nullopt;
      break;
    }
    SkipBlanks();
    return rest_.empty() ? std::optional(entries) : std::nullopt;
  }

 private:
  void SkipBlanks() {
    while (!rest_.empty() && absl::ascii_isspace(static_cast<unsigned char>(rest_.front()))) rest_.remove_prefix(1);
  }

  bool Take(char wanted) {
    SkipBlanks();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<int64_t> Number() {
    SkipBlanks();
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    int64_t number = 0;
    if (!absl::SimpleAtoi(absl::string_view(rest_.data(), digits), &number)) return std::nullopt;
    rest_.remove_prefix(digits);
    return number;
  }

  // Reads a string in single or double quotes. A backslash before a symbol stands for that symbol. Returns nullopt for
  // other escapes, like "\\x".
  std::optional<std::string> String() {
    SkipBlanks();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const char quote = rest_.front();
    std::string text;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return text;
      }
      if (rest_[i] == '\\' && (++i == rest_.size() || absl::ascii_isalnum(static_cast<unsigned char>(rest_[i])))) break;
      text += rest_[i];
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

absl::StatusOr<LabelText> FromBrackets(std::string_view text) {
  if (nlohmann::json::accept(text)) {
    absl::StatusOr<Lines> labels = LabelsOfConfig(text);
    RETURN_IF_ERROR(labels.status());
    if (labels->empty()) return absl::FailedPreconditionError("is JSON without labels (label_names, id2label)");
    return LabelText{*std::move(labels), "read as JSON"};
  }
  const auto entries = PythonReader(text).Read();
  if (!entries.has_value()) {
    return absl::InvalidArgumentError(
        "starts like a Python dictionary or list, but is not one of numbers and labels; give one label per line");
  }
  LabelText read{.form = "read as a Python dictionary or list"};
  for (const auto& [number, label] : *entries) {
    if (number != static_cast<int64_t>(read.labels.size())) return OutOfOrder(number, read.labels.size());
    read.labels.emplace_back(absl::StripAsciiWhitespace(label));
  }
  return read;
}

// A line with a class number and a label.
struct Numbered {
  int64_t number = 0;
  std::string label = {};
  char separator = ' ';  // ' ' if there are only blanks
};

// Splits "0 cat", "0,cat", "0: cat" and the like. Returns nullopt for a line without number, separator or label, and
// for numbers like "1,000" and "4:3".
std::optional<Numbered> SplitNumber(const std::string& line) {
  constexpr size_t kMostDigits = 9;
  const size_t digits = line.find_first_not_of("0123456789");
  Numbered split;
  if (digits == std::string::npos || digits > kMostDigits || !absl::SimpleAtoi(line.substr(0, digits), &split.number)) {
    return std::nullopt;
  }
  absl::string_view rest = absl::string_view(line).substr(digits);
  const absl::string_view label = absl::StripLeadingAsciiWhitespace(rest);
  bool is_split = label.size() < rest.size();
  rest = label;
  if (rest.empty()) return std::nullopt;
  const bool is_blank_next = rest.size() > 1 && absl::ascii_isspace(static_cast<unsigned char>(rest[1]));
  const bool is_digit_next = rest.size() > 1 && absl::ascii_isdigit(static_cast<unsigned char>(rest[1]));
  constexpr absl::string_view kSeparators = ",:;=", kBeforeBlank = ".)";
  if ((absl::StrContains(kSeparators, rest[0]) && !is_digit_next) ||
      (absl::StrContains(kBeforeBlank, rest[0]) && is_blank_next)) {
    split.separator = rest[0];
    rest.remove_prefix(1);
    is_split = true;
  }
  split.label = std::string(absl::StripAsciiWhitespace(rest));
  return is_split && !split.label.empty() ? std::optional(split) : std::nullopt;
}

// Splits every line with SplitNumber. The first line may be a header ("index,label"), which is left out. Returns an
// empty list if another line cannot be split.
std::vector<Numbered> SplitNumbers(const Lines& lines) {
  std::vector<Numbered> all;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::optional<Numbered> split = SplitNumber(lines[i]);
    if (split.has_value()) {
      all.push_back(*split);
    } else if (i > 0 || lines.size() < 2) {
      return {};
    }
  }
  const bool has_header = all.size() < lines.size();
  if (has_header && std::any_of(all.begin(), all.end(), [](const Numbered& line) { return line.separator == ' '; })) {
    return {};
  }
  return all;
}

// Returns true if the numbers of n lines are 0 to n-1 or 1 to n, in any order. Other numbers before a blank may be a
// part of the label: "30 km/h".
bool AreCounts(const std::vector<Numbered>& all) {
  std::set<int64_t> numbers;
  for (const Numbered& line : all) numbers.insert(line.number);
  return numbers.size() == all.size() && *numbers.begin() <= 1 &&
         *numbers.rbegin() - *numbers.begin() == static_cast<int64_t>(all.size()) - 1;
}

// Removes the numbers before the labels if every line has a number and the numbers cannot be a part of the labels.
absl::Status TakeNumbers(Lines& lines, LabelText& read) {
  const std::vector<Numbered> all = SplitNumbers(lines);
  if (all.empty()) return absl::OkStatus();
  const bool has_blanks =
      std::any_of(all.begin(), all.end(), [](const Numbered& line) { return line.separator == ' '; });
  if (has_blanks && !AreCounts(all)) return absl::OkStatus();
  Lines labels;
  for (const Numbered& line : all) {
    if (line.number != static_cast<int64_t>(labels.size())) return OutOfOrder(line.number, labels.size());
    labels.push_back(line.label);
    // In CSV, only a label with a comma has quotes.
    std::string& label = labels.back();
    if (line.separator != ' ' && label.size() > 1 && label.front() == '"' && label.back() == '"') {
      label = absl::StrReplaceAll(label.substr(1, label.size() - 2), {{"\"\"", "\""}});
    }
  }
  lines = std::move(labels);
  read.form = "the number before every label is removed";
  return absl::OkStatus();
}

// If every line has quotes around its label, removes the quotes, and a comma after them.
void TakeQuotes(Lines& lines, LabelText& read) {
  const auto stripped = [](absl::string_view line) {
    absl::ConsumeSuffix(&line, ",");
    return line;
  };
  const bool all = std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const absl::string_view quoted = stripped(line);
    return quoted.size() > 2 && (quoted.front() == '"' || quoted.front() == '\'') && quoted.back() == quoted.front();
  });
  if (!all || lines.empty()) return;
  for (std::string& line : lines) {
    const absl::string_view quoted = stripped(line);
    line = std::string(absl::StripAsciiWhitespace(quoted.substr(1, quoted.size() - 2)));
  }
  absl::StrAppend(&read.form, read.form.empty() ? "" : "; ", "the quotes around every label are removed");
}

}  // namespace

absl::StatusOr<LabelText> ParseLabelText(std::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  absl::string_view inside = trimmed;
  const bool is_bracket = absl::ConsumePrefix(&inside, "[");
  inside = absl::StripLeadingAsciiWhitespace(inside);
  const bool is_list = is_bracket && (absl::StartsWith(inside, "'") || absl::StartsWith(inside, "\""));
  if (absl::StartsWith(trimmed, "{") || is_list) return FromBrackets({trimmed.data(), trimmed.size()});
  Lines lines = TrimmedLines(text);
  if (lines.empty()) return absl::InvalidArgumentError("holds no label; write one label per line, in class order");
  LabelText read;
  RETURN_IF_ERROR(TakeNumbers(lines, read));
  TakeQuotes(lines, read);
  read.labels = std::move(lines);
  return read;
}

}  // namespace vitrine
