// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_REVIEW_H_
#define VITRINE_MODELS_WORKLOAD_REVIEW_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace vitrine {

// Operator tables 3 to 5 of paper 003, the review of vision transformers, as printed and as corrected. They omit
// biases, norm parameters and the patch embedding. They count memory traffic for every operator, with 4 bytes per
// value.

struct ReviewSizes {
  int64_t batch = 1;
  int64_t tokens = 196;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t classes = 1000;
};

struct ReviewCost {
  double flops = 0;
  double bytes = 0;
  double intensity = 0;  // by the table's formula; the printed intensity does not always equal flops / bytes
  std::string_view flops_formula;
  std::string_view bytes_formula;
  std::string_view intensity_formula;
};

struct ReviewOperator {
  int table = 0;  // table 3: attention, 4: feed-forward, 5: classifier
  std::string_view name;
  ReviewCost printed;
  ReviewCost corrected;
  std::string_view errors;  // description of the errors in print; empty if none
};

// Returns all operators of the tables. In the formulas, N is the number of tokens, b the batch size, d the width, a the
// number of heads, and V the number of classes.
std::vector<ReviewOperator> ReviewTables(const ReviewSizes& sizes);

}  // namespace vitrine

#endif  // VITRINE_MODELS_WORKLOAD_REVIEW_H_
