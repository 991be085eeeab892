// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_QUANTIZE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_QUANTIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// Minimum number of images. With fewer, the measured accuracy is too imprecise to compare with the budget.
inline constexpr int64_t kFewestQuantizeImages = 100;

struct QuantizeOptions {
  std::string repository;
  std::string which;  // MODEL or MODEL@VERSION
  std::string precision;
  std::string data;  // FORMAT:PATH, as for OpenDataset
  std::string split = "test";
  double budget = 0.3;    // allowed loss of top-1, in percentage points
  int64_t images = 2000;  // number of images to measure on, spread evenly over the data set
  std::string format = "table";
};

// Publishes a copy of a version that can also run in the given precision. Keeps the operators with the largest measured
// errors out of that precision until the loss of accuracy is within the budget. Records the goldens with the portable
// path. Prints the result to stdout and progress to stderr. FAILED_PRECONDITION if there are fewer than 100 images, if
// the version has no classes, if the data set has labels that the model lacks, or if the loss exceeds the budget even
// if only one operator uses the precision. Nothing is published then.
absl::Status QuantizeCommand(const QuantizeOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_QUANTIZE_H_
