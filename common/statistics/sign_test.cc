// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/sign_test.h"

#include <algorithm>
#include <cmath>

namespace vitrine {

double SignTest(int64_t above, int64_t below) {
  const int64_t fewer = std::min(above, below), all = above + below;
  // A double would underflow to 0 with 1,075 or more values, a long double of x86 only with 16,446 or more.
  long double term = std::pow(0.5L, static_cast<long double>(all)), tail = 0;
  for (int64_t i = 0; i <= fewer; ++i) {
    tail += term;
    term *= static_cast<long double>(all - i) / static_cast<long double>(i + 1);
  }
  return static_cast<double>(std::min(1.0L, 2 * tail));
}

}  // namespace vitrine
