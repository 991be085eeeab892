// SPDX-License-Identifier: Apache-2.0
#include "models/float_array.h"

namespace vitrine {

std::vector<float> MeanOfRows(std::span<const float> rows, int64_t width) {
  const auto columns = static_cast<size_t>(width);
  std::vector<double> sums(columns);
  for (size_t first = 0; first < rows.size(); first += columns) {
    for (size_t j = 0; j < columns; ++j) sums[j] += rows[first + j];
  }
  const size_t count = rows.size() / columns;
  std::vector<float> means;
  for (const double sum : sums) means.push_back(static_cast<float>(sum / static_cast<double>(count)));
  return means;
}

}  // namespace vitrine
