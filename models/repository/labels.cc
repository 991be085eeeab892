// SPDX-License-Identifier: Apache-2.0
#include "models/repository/labels.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

absl::Status CheckLabel(const std::string& label, size_t line) {
  constexpr size_t kLongest = 256;
  const auto refused = [&](const std::string& fault) {
    return absl::InvalidArgumentError(absl::StrCat("line ", line, ": the label ", Quoted(label), " ", fault));
  };
  if (label.empty()) return refused("is empty");
  if (label.size() > kLongest) return refused(absl::StrCat("is longer than ", kLongest, " bytes"));
  if (!IsValidUtf8(label)) return refused("is not UTF-8");
  if (std::any_of(label.begin(), label.end(), absl::ascii_iscntrl)) return refused("holds a control character");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseLabels(std::string_view text) {
  if (text.empty()) return std::vector<std::string>();
  if (text.back() != '\n') {
    return absl::InvalidArgumentError("the last line does not end with a line feed; the file may be truncated");
  }
  text.remove_suffix(1);
  std::vector<std::string> labels = absl::StrSplit(std::string(text), '\n');
  for (size_t i = 0; i < labels.size(); ++i) RETURN_IF_ERROR(CheckLabel(labels[i], i + 1));
  return labels;
}

absl::StatusOr<std::string> FormatLabels(const std::vector<std::string>& labels) {
  std::string text;
  for (size_t i = 0; i < labels.size(); ++i) {
    RETURN_IF_ERROR(CheckLabel(labels[i], i + 1));
    absl::StrAppend(&text, labels[i], "\n");
  }
  return text;
}

}  // namespace vitrine
