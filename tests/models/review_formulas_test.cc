// SPDX-License-Identifier: Apache-2.0
// Compares the numbers in the tables of models/workload/review.h with the formulas in these tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "models/workload/review.h"

namespace vitrine {
namespace {

using Letters = std::map<char, double>;

// Parses "4.5N^2ba": an optional factor, then letters, each of which may be squared.
double ProductOf(absl::string_view product, const Letters& letters) {
  const size_t digits = std::min(product.find_first_not_of("0123456789."), product.size());
  double value = 1;
  if (digits != 0) {
    EXPECT_TRUE(absl::SimpleAtod(product.substr(0, digits), &value)) << product;
  }
  for (size_t i = digits; i < product.size(); ++i) {
    if (product[i] == '^') continue;
    const bool squares = absl::ascii_isdigit(static_cast<unsigned char>(product[i]));
    value *= letters.at(squares ? product[i - 2] : product[i]);
  }
  return value;
}

// Parses "Nbd/(4Nb+2d)": a sum of products, optionally divided by another sum.
double ValueOf(std::string_view formula, const Letters& letters) {
  const auto sum = [&](std::string text) {
    std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
    double value = 0;
    for (const auto product : absl::StrSplit(text, '+')) value += ProductOf(product, letters);
    return value;
  };
  const size_t slash = formula.find('/');
  const double above = sum(std::string(formula.substr(0, slash)));
  return slash == std::string_view::npos ? above : above / sum(std::string(formula.substr(slash + 1)));
}

TEST(Review, NumbersEqualTheirFormulas) {
  const Letters letters = {{'N', 5}, {'b', 3}, {'d', 7}, {'a', 2}, {'V', 11}};
  int numbers = 0;
  for (const ReviewOperator& row : ReviewTables({.batch = 3, .tokens = 5, .width = 7, .heads = 2, .classes = 11})) {
    for (const ReviewCost& cost : {row.printed, row.corrected}) {
      EXPECT_DOUBLE_EQ(cost.flops, ValueOf(cost.flops_formula, letters)) << row.name << " " << cost.flops_formula;
      EXPECT_DOUBLE_EQ(cost.bytes, ValueOf(cost.bytes_formula, letters)) << row.name << " " << cost.bytes_formula;
      EXPECT_DOUBLE_EQ(cost.intensity, ValueOf(cost.intensity_formula, letters))
          << row.name << " " << cost.intensity_formula;
      numbers += 3;
    }
  }
  EXPECT_EQ(numbers, 16 * 6);
}

}  // namespace
}  // namespace vitrine
