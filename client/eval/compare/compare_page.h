// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_COMPARE_COMPARE_PAGE_H_
#define VITRINE_CLIENT_EVAL_COMPARE_COMPARE_PAGE_H_

#include <string>

#include "absl/status/status.h"
#include "client/eval/compare/compare.h"
#include "common/data/dataset.h"

namespace vitrine {

// Returns the comparison as one self-contained HTML file. The page shows the images whose result changed. They are read
// from `data`, the data set of the first evaluation. If `data` is null, the page shows only the names of these images,
// and a remark.
std::string DrawComparison(const Comparison& comparison, const Dataset* data);

// Returns several comparisons with one evaluation as one HTML file. The file has the result and the measures of each
// comparison, and no images.
std::string DrawComparisons(const Comparisons& comparisons);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_COMPARE_PAGE_H_
