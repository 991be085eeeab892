// SPDX-License-Identifier: Apache-2.0
#include "common/data/label_map.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/data/csv.h"
#include "common/data/file.h"
#include "common/data/file_names.h"
#include "common/data/formats/imagenet.h"
#include "common/data/unicode.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace vitrine {
namespace {

// Parses a label as a number if it has only digits. Other labels, such as "1e3" and "-0", are names.
std::optional<int32_t> AsNumber(const std::string& label) {
  int32_t number = 0;
  const bool digits = std::all_of(label.begin(), label.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(label, &number)) return std::nullopt;
  return number;
}

bool AreNumbers(const std::vector<std::string>& labels) {
  return !labels.empty() && std::all_of(labels.begin(), labels.end(), [](auto& label) { return AsNumber(label); });
}

// Matches each data label that has no class yet to the model's label with the same number, if exactly one label of the
// model has this number.
void MatchNumbers(const std::vector<std::string>& data, const std::vector<std::string>& model, LabelMatch& match) {
  std::map<int32_t, std::vector<int32_t>> numbered;
  for (size_t i = 0; i < model.size(); ++i) {
    if (const auto number = AsNumber(model[i])) numbered[*number].push_back(static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < data.size(); ++i) {
    const std::optional<int32_t> number = match.classes[i] < 0 ? AsNumber(data[i]) : std::nullopt;
    const auto found = number ? numbered.find(*number) : numbered.end();
    if (found != numbered.end() && found->second.size() == 1) match.classes[i] = found->second.front();
  }
}

// Looks up labels by name. Names that differ only in their Unicode form count as equal.
class Names {
 public:
  explicit Names(const std::vector<std::string>& labels) {
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto number = static_cast<int32_t>(i);
      const std::string label = Composed(labels[i]);
      exact_[label].push_back(number);
      any_case_[absl::AsciiStrToLower(label)].push_back(number);
    }
  }
  // Returns the indices of all labels that equal `label`. If there are none, and exactly one label differs from `label`
  // only in case, returns its index.
  std::vector<int32_t> All(const std::string& label) const {
    const std::string composed = Composed(label);
    if (const auto found = exact_.find(composed); found != exact_.end()) return found->second;
    const auto found = any_case_.find(absl::AsciiStrToLower(composed));
    return found == any_case_.end() || found->second.size() > 1 ? std::vector<int32_t>() : found->second;
  }
  // Returns the index that All finds; -1 if All finds none or several.
  int32_t Find(const std::string& label) const {
    const std::vector<int32_t> all = All(label);
    return all.size() == 1 ? all.front() : -1;
  }
  bool Has(const std::string& label) const { return exact_.contains(Composed(label)); }

 private:
  std::map<std::string, std::vector<int32_t>> exact_, any_case_;
};

// Returns a label as it is shown in messages. Valid UTF-8 is not escaped: the labels of an evaluation are escaped
// already, and must not be escaped twice.
std::string Shown(const std::string& label) {
  return IsUtf8(label) ? label : EscapedBytes(label);
}

std::string FirstOf(const std::vector<std::string>& labels) {
  constexpr size_t kMost = 5;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(labels.size(), kMost); ++i)
    quoted.push_back(absl::StrCat("\"", Shown(labels[i]), "\""));
  return absl::StrCat(absl::StrJoin(quoted, ", "), labels.size() > kMost ? ", ..." : "");
}

absl::Status NothingFits(const std::vector<std::string>& data, const std::vector<std::string>& model) {
  return absl::NotFoundError(absl::StrCat("no label of the data set is a class of the model: the data set has ",
                                          FirstOf(data), ", the model ", FirstOf(model),
                                          "; give a file of lines \"data label<TAB>model label\" with --label-map"));
}

// Returns the model's class that `row` names.
absl::StatusOr<int32_t> ClassOf(const LabelRow& row, const Names& names, const std::vector<std::string>& model) {
  const std::string where = absl::StrCat("line ", row.line, " of the label map: ");
  const std::vector<int32_t> all = names.All(row.model);
  if (all.size() == 1) return all.front();
  if (all.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(where, "the model has several classes \"", row.model, "\", ",
                                                   absl::StrJoin(all, " and "), "; give the number of the class"));
  }
  const std::optional<int32_t> number = AsNumber(row.model);
  if (number.has_value() && static_cast<size_t>(*number) < model.size()) return *number;
  return absl::InvalidArgumentError(
      absl::StrCat(where, "the model has no class \"", Shown(row.model), "\"; it has ", FirstOf(model)));
}

// Returns the row of each data label: the row with exactly that label, else a row whose label differs only in case.
absl::StatusOr<std::map<int32_t, const LabelRow*>> RowsOf(const std::vector<LabelRow>& rows, const Names& data_names) {
  std::map<int32_t, const LabelRow*> row_of;
  for (const bool exact : {true, false}) {
    for (const LabelRow& row : rows) {
      if (data_names.Has(row.data) != exact) continue;
      const int32_t label = data_names.Find(row.data);
      if (label < 0) continue;  // a map may have labels that are not in this data set
      const auto [known, added] = row_of.emplace(label, &row);
      if (added || exact || data_names.Has(known->second->data)) continue;
      return absl::InvalidArgumentError(absl::StrCat("lines ", known->second->line, " and ", row.line,
                                                     " of the label map match the same label, \"", known->second->data,
                                                     "\" and \"", row.data, "\"; remove one"));
    }
  }
  return row_of;
}

// Returns the first synonym of an ImageNet label: "tench" for "tench, Tinca tinca".
std::string FirstName(const std::string& label) {
  return std::string(absl::StripAsciiWhitespace(label.substr(0, label.find(','))));
}

// Returns true for the name of a class of ImageNet-1k, in upper or lower case. Such a name may contain a comma: "crane,
// bird".
bool IsImageNetName(const std::string& label) {
  static const auto& names = *[] {
    auto* lower = new std::set<std::string>();
    for (const std::string& name : ImageNetNames()) lower->insert(absl::AsciiStrToLower(name));
    return lower;
  }();
  return names.contains(absl::AsciiStrToLower(label));
}

// Returns the ImageNet-1k class of the WordNet id at the start of the label: "n02085620-Chihuahua" (folders of Stanford
// Dogs), "n01440764 tench, Tinca tinca" (ILSVRC's list of synsets).
std::optional<int> WnidClass(const std::string& label) {
  constexpr size_t kLength = 9;
  if (label.size() > kLength && absl::ascii_isalnum(label[kLength])) return std::nullopt;
  return ImageNetClass(label.substr(0, kLength));
}

// Returns the name of a label's class: for a label with a WordNet id, the name of the ImageNet-1k class; for a name of
// an ImageNet-1k class, the label itself; for any other label, its first synonym. Case is kept, because "Cardigan" is a
// dog and "cardigan" is clothing.
std::string NameOrFirstName(const std::string& label) {
  const std::optional<int> number = WnidClass(label);
  if (number.has_value()) return ImageNetNames()[static_cast<size_t>(*number)];
  return IsImageNetName(label) ? label : FirstName(label);
}

// Returns true if the model has the classes of ImageNet-1k, in the same order. Fewer than half of the names may
// differ, because published lists spell some names differently.
bool HasImageNetsClasses(const std::vector<std::string>& model) {
  const std::vector<std::string>& names = ImageNetNames();
  if (model.size() != names.size()) return false;
  const auto first = [](const std::string& label) { return absl::AsciiStrToLower(FirstName(label)); };
  size_t equal = 0;
  for (size_t i = 0; i < names.size(); ++i) equal += first(model[i]) == first(names[i]) ? 1 : 0;
  return 2 * equal > names.size();
}

// Uses the WordNet ids of the data set or of the model to match data labels that have no class yet. Returns true if any
// label matched.
bool MatchWnids(const std::vector<std::string>& data, const std::vector<std::string>& model, LabelMatch& match) {
  const auto is_wnid = [](const std::string& label) { return WnidClass(label).has_value(); };
  const bool of_data = std::any_of(data.begin(), data.end(), is_wnid);
  if (!of_data && std::none_of(model.begin(), model.end(), is_wnid)) return false;
  const bool in_order = of_data && HasImageNetsClasses(model);
  std::vector<std::string> names;
  for (const std::string& label : model) names.push_back(NameOrFirstName(label));
  const Names by_name(names);
  // Finds the model's label for the class of `label`. Labels with different WordNet ids never match, even if their
  // names are equal ("Cardigan").
  const auto find = [&](const std::string& label) {
    const int found = by_name.Find(NameOrFirstName(label));
    const std::optional<int> wanted = WnidClass(label);
    const std::optional<int> given = found < 0 ? std::nullopt : WnidClass(model[static_cast<size_t>(found)]);
    return wanted && given && *wanted != *given ? -1 : found;
  };
  bool matched = false;
  for (size_t i = 0; i < data.size(); ++i) {
    if (match.classes[i] >= 0 || (of_data && !is_wnid(data[i]))) continue;
    match.classes[i] = in_order ? *WnidClass(data[i]) : find(data[i]);
    matched = matched || match.classes[i] >= 0;
  }
  return matched;
}

}  // namespace

absl::StatusOr<std::vector<LabelRow>> ParseLabelMap(std::string_view text, std::string_view path) {
  std::vector<LabelRow> rows;
  std::map<std::string, int64_t> lines;
  int64_t line = 0;
  while (!text.empty()) {
    const std::string_view all = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), all.size() + 1));
    ++line;
    const absl::string_view content = absl::StripAsciiWhitespace(absl::string_view(all.data(), all.size()));
    if (content.empty() || content.front() == '#') continue;
    const char separator = content.find('\t') == absl::string_view::npos ? ',' : '\t';
    const auto cells = ParseCsv(std::string_view(content.data(), content.size()), separator);
    if (!cells.ok() || cells->size() != 1 || cells->front().cells.size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(path), " line ", line,
                                                     ": expected two columns, data label and model label, separated "
                                                     "by a tab or a comma"));
    }
    LabelRow row{.data = std::string(WithoutBlanks(cells->front().cells[0])),
                 .model = std::string(WithoutBlanks(cells->front().cells[1])),
                 .line = line};
    if (const auto [known, added] = lines.emplace(Composed(row.data), line); !added) {
      return absl::InvalidArgumentError(absl::StrCat(std::string(path), " line ", line, ": label \"", row.data,
                                                     "\" has a class in line ", known->second, " already"));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

absl::StatusOr<std::vector<LabelRow>> ReadLabelMap(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return ParseLabelMap(text, path);
}

absl::StatusOr<LabelMatch> MatchLabels(const std::vector<std::string>& data, const std::vector<std::string>& model,
                                       const std::vector<LabelRow>& rows) {
  const Names model_names(model), data_names(data);
  LabelMatch match{.classes = std::vector<int32_t>(data.size(), -1)};
  for (size_t i = 0; i < data.size(); ++i) match.classes[i] = model_names.Find(data[i]);
  const auto any = [&] {
    return std::any_of(match.classes.begin(), match.classes.end(), [](int c) { return c >= 0; });
  };
  MatchNumbers(data, model, match);
  if (AreNumbers(data) && !any()) {
    match.by_number = true;
    for (size_t i = 0; i < data.size(); ++i) {
      const auto number = static_cast<size_t>(*AsNumber(data[i]));
      if (number < model.size()) match.classes[i] = static_cast<int32_t>(number);
    }
  }
  match.by_wnid = MatchWnids(data, model, match);
  for (const LabelRow& row : rows) RETURN_IF_ERROR(ClassOf(row, model_names, model).status());
  ASSIGN_OR_RETURN(const auto row_of, RowsOf(rows, data_names));
  for (const auto& [label, row] : row_of) {
    ASSIGN_OR_RETURN(match.classes[static_cast<size_t>(label)], ClassOf(*row, model_names, model));
  }
  for (size_t i = 0; i < data.size(); ++i) {
    if (match.classes[i] >= 0) continue;
    if (const std::vector<int32_t> all = model_names.All(data[i]); all.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("label \"", data[i], "\" of the data set is the name of several classes of the model, ",
                       absl::StrJoin(all, " and "), "; choose one by its number, with --label-map"));
    }
    match.unknown.push_back(data[i]);
  }
  if (!any()) return NothingFits(data, model);
  return match;
}

std::vector<std::string> MatchInWords(const LabelMatch& match, const Dataset& data) {
  std::vector<std::string> lines;
  if (match.by_number)
    lines.emplace_back("the data set's labels are numbers; they are used as class numbers of the model");
  bool has_zero = false;
  for (int64_t i = 0; i < data.size() && !has_zero; ++i) has_zero = AsNumber(data.labels()[data.label(i)]) == 0;
  if (AreNumbers(data.labels()) && !has_zero && (match.by_number || !match.unknown.empty())) {
    lines.emplace_back(
        "no image has the label 0: is the set counted from 1? Classes are counted from 0, so every image would be "
        "compared with the class after its own");
  }
  if (match.by_wnid) lines.emplace_back("the labels are read as WordNet ids of ImageNet-1k's classes");
  return lines;
}

}  // namespace vitrine
