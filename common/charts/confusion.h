// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_CONFUSION_H_
#define VITRINE_COMMON_CHARTS_CONFUSION_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vitrine {

// Confusion matrix. Memory grows with the number of distinct (label, answer) pairs, not with the square of the number
// of classes.
class Confusion {
 public:
  explicit Confusion(int classes) : of_label_(static_cast<size_t>(classes)), of_answer_(static_cast<size_t>(classes)) {}

  // Requires `label` and `answer` in [0, classes).
  void Add(int label, int answer);

  int classes() const { return static_cast<int>(of_label_.size()); }
  int64_t Count(int label, int answer) const;
  // Returns the number of samples of a class.
  int64_t OfLabel(int label) const { return of_label_[static_cast<size_t>(label)]; }
  // Returns the number of answers with this class.
  int64_t OfAnswer(int answer) const { return of_answer_[static_cast<size_t>(answer)]; }
  // Recall is the share of the samples of class `label` that are answered correctly; 0 if there are no such samples.
  // Precision is the share of the answers with class `answer` that are correct; 0 if there are none.
  double Recall(int label) const;
  double Precision(int answer) const;
  double Accuracy() const;

  struct Pair {
    int label = 0;
    int answer = 0;
    int64_t count = 0;
  };
  // Returns up to `most` pairs of a label and a wrong answer, most frequent first; equal counts are sorted by label and
  // answer.
  std::vector<Pair> MostConfused(int most) const;

 private:
  std::map<std::pair<int, int>, int64_t> counts_;  // keys: label and answer
  std::vector<int64_t> of_label_;
  std::vector<int64_t> of_answer_;
};

// Maximum number of classes for a drawn matrix.
inline constexpr int kMostDrawnClasses = 40;

// Returns the matrix as an SVG element for an HtmlPage. Rows are labels, and columns are answers. The shade of a cell
// is the cell's share of its row, and the number is the count. Requires one name per class and at most
// kMostDrawnClasses classes.
std::string DrawConfusion(const Confusion& confusion, std::span<const std::string> names);

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_CONFUSION_H_
