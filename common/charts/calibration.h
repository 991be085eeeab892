// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_CALIBRATION_H_
#define VITRINE_COMMON_CHARTS_CALIBRATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vitrine {

// Calibration of a classifier (Guo et al. 2017). Groups the answers by confidence into bins of equal width, and
// computes the accuracy and the mean confidence of each bin.
class Calibration {
 public:
  struct Bin {
    int64_t answers = 0;
    int64_t correct = 0;
    double confidence_sum = 0;
    double accuracy() const { return answers == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(answers); }
    double confidence() const { return answers == 0 ? 0 : confidence_sum / static_cast<double>(answers); }
  };

  // Requires `bins` of at least 1. Bin i holds confidences in (i / bins, (i + 1) / bins]; the first bin includes 0.
  explicit Calibration(int bins = 15) : bins_(static_cast<size_t>(bins)) {}

  // `confidence`: probability of the answer, 0 to 1.
  void Add(double confidence, bool correct);

  int64_t answers() const;
  // Returns the expected calibration error, 0 to 1: |accuracy - confidence| of each bin, averaged with the bin's number
  // of answers as weight.
  double ExpectedError() const;
  // Returns mean confidence minus accuracy; above 0 if the classifier is overconfident.
  double Overconfidence() const;
  const std::vector<Bin>& bins() const { return bins_; }

 private:
  std::vector<Bin> bins_;
};

// Returns the reliability diagram as an SVG element for an HtmlPage: a bar for the accuracy of each bin, a dot at its
// mean confidence, and the diagonal of perfect calibration. The numbers of answers per bin are drawn below.
std::string DrawReliability(const Calibration& calibration, const std::string& title = "Reliability");

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_CALIBRATION_H_
