// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_EVAL_COMPARE_PAGE_H_
#define VITRINE_CLIENT_EVAL_COMPARE_PAGE_H_

#include <string>

#include "absl/status/status.h"
#include "client/eval/compare.h"
#include "data/dataset.h"

namespace vitrine {

// The comparison as one HTML file that needs nothing else. `data` is the first evaluation's data set, whose pictures
// are shown where they flipped; null: names alone, and the page says so.
std::string DrawComparison(const Comparison& comparison, const Dataset* data);

// Several comparisons with one evaluation likewise: what each came to, and the measures of each. No pictures: those
// are on the page of two.
std::string DrawComparisons(const Comparisons& comparisons);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_EVAL_COMPARE_PAGE_H_
