// SPDX-License-Identifier: Apache-2.0
#include "common/statistics/significance.h"

#include "absl/strings/str_format.h"

namespace vitrine {

std::string PText(double p) {
  return p < 1e-4 ? absl::StrFormat("%.1e", p) : absl::StrFormat("%.4f", p);
}

}  // namespace vitrine
