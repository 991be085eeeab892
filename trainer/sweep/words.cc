// SPDX-License-Identifier: Apache-2.0
#include "trainer/sweep/words.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vitrine {

bool IsFraction(const std::string& metric) {
  return absl::EndsWith(metric, "top1") || absl::EndsWith(metric, "top5") || absl::EndsWith(metric, "accuracy");
}

std::string HeadingOf(const std::string& metric) {
  return IsFraction(metric) ? metric + " %" : metric;
}

std::string ScoreInWords(const std::string& metric, double value) {
  return IsFraction(metric) ? absl::StrFormat("%.2f", 100 * value) : absl::StrFormat("%.4g", value);
}

std::string DifferenceInWords(const std::string& metric, double value) {
  return IsFraction(metric) ? absl::StrFormat("%+.2f", 100 * value) : absl::StrFormat("%+.4g", value);
}

std::string MarginInWords(const std::string& metric, double value) {
  return IsFraction(metric) ? absl::StrFormat("%.4g percentage points", 100 * value) : absl::StrFormat("%.4g", value);
}

}  // namespace vitrine
