// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_SCALING_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_SCALING_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

struct ScalingOptions {
  std::string model;                     // zoo variant; MODEL or MODEL@VERSION if there is a repository
  std::string repository;                // empty: use the zoo
  std::vector<std::string> resolutions;  // "224" or "224x320" (height x width)
  int batch = 1;                         // images per pass
  int repeats = 3;                       // measurements of each size
  bool reference = false;                // true: measure the reference implementation instead of the CPU engine
  OutputFormat format = OutputFormat::kTable;
};

// `vitrine-repo scaling`: measures the time and the peak memory of forward passes at several input sizes on one core,
// and prints them. Also prints, for time and memory, the exponent p of a fit by (number of tokens)^p. The memory
// excludes weights and input. In the reference, softmax attention keeps its matrix in memory, like the papers' code.
// INVALID_ARGUMENT if the model does not accept a size, FAILED_PRECONDITION if LibTorch is needed and not installed,
// UNIMPLEMENTED as for PeakBytesOf.
absl::Status ScalingCommand(const ScalingOptions& options);

// Returns the exponent p of the fit y ~ x^p to the points, by least squares of the logarithms. Requires positive
// numbers and two different x.
double PowerOf(std::span<const std::pair<double, double>> points);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_SCALING_H_
