// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_CALIBRATION_H_
#define VITRINE_COMMON_CHARTS_CALIBRATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine {

// Compares confidence with accuracy (Guo et al. 2017): answers are grouped into bins of equal width by confidence, and
// each bin's accuracy is compared with its mean confidence.
class Calibration {
 public:
  struct Bin {
    int64_t answers = 0;
    int64_t correct = 0;
    double confidence_sum = 0;
    double accuracy() const { return answers == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(answers); }
    double confidence() const { return answers == 0 ? 0 : confidence_sum / static_cast<double>(answers); }
  };

  // `bins` at least 1. Bin i holds confidences in (i / bins, (i + 1) / bins]; the first one 0 too.
  explicit Calibration(int bins = 15) : bins_(static_cast<size_t>(bins)) {}

  // `confidence` is the probability of the answer, 0 to 1.
  void Add(double confidence, bool correct);

  int64_t answers() const;
  // Returns the expected calibration error: the mean over the answers of |accuracy - confidence| of their bin, 0 to 1.
  double ExpectedError() const;
  // Returns mean confidence minus accuracy: above 0 if the classifier is overconfident.
  double Overconfidence() const;
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  std::vector<Bin> bins_;
};

// Returns the reliability diagram as an SVG element for an HtmlPage: a bar of each bin's accuracy over its confidence,
// the diagonal of perfect calibration, and below it the number of answers per bin.
std::string DrawReliability(const Calibration& calibration, const std::string& title = "Reliability");

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_CALIBRATION_H_
