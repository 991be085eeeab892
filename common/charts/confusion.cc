// SPDX-License-Identifier: Apache-2.0
#include "common/charts/confusion.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/charts/shaded_matrix.h"

namespace vitrine {
namespace {

double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void Confusion::Add(int label, int answer) {
  ++counts_[{label, answer}];
  ++of_label_[static_cast<size_t>(label)];
  ++of_answer_[static_cast<size_t>(answer)];
}

int64_t Confusion::Count(int label, int answer) const {
  const auto found = counts_.find({label, answer});
  return found == counts_.end() ? 0 : found->second;
}

double Confusion::Recall(int label) const {
  return Share(Count(label, label), OfLabel(label));
}

double Confusion::Precision(int answer) const {
  return Share(Count(answer, answer), OfAnswer(answer));
}

double Confusion::Accuracy() const {
  int64_t right = 0, all = 0;
  for (int i = 0; i < classes(); ++i) {
    right += Count(i, i);
    all += OfLabel(i);
  }
  return Share(right, all);
}

std::vector<Confusion::Pair> Confusion::MostConfused(int most) const {
  std::vector<Pair> pairs;
  for (const auto& [pair, count] : counts_) {
    if (pair.first != pair.second) pairs.push_back({pair.first, pair.second, count});
  }
  std::ranges::sort(pairs, {}, [](const Pair& pair) { return std::tuple(-pair.count, pair.label, pair.answer); });
  if (pairs.size() > static_cast<size_t>(most)) pairs.resize(static_cast<size_t>(most));
  return pairs;
}

std::string DrawConfusion(const Confusion& confusion, std::span<const std::string> names) {
  ShadedMatrix matrix;
  matrix.title = "Confusion";
  matrix.note = "samples of a class (row) by the answer given (column); shade: share of the row";
  matrix.row_axis = "label";
  matrix.column_axis = "answer";
  matrix.rows.assign(names.begin(), names.end());
  matrix.columns = matrix.rows;
  for (int label = 0; label < confusion.classes(); ++label) {
    for (int answer = 0; answer < confusion.classes(); ++answer) {
      const int64_t count = confusion.Count(label, answer);
      const double share = Share(count, confusion.OfLabel(label));
      matrix.cells.push_back({.shade = share,
                              .text = count == 0 ? "" : absl::StrCat(count),
                              .tip = absl::StrFormat("%s taken for %s: %d, %.1f %% of the row", names[label],
                                                     names[answer], count, 100 * share)});
    }
  }
  return DrawShadedMatrix(matrix);
}

}  // namespace vitrine
