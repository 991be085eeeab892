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
// and prints them. Also fits (number of tokens)^p to time and memory, and prints both exponents p. The memory excludes
// weights and input. With the reference back end, softmax attention stores its whole matrix in memory, as the papers'
// code does. INVALID_ARGUMENT if the model does not accept a size, FAILED_PRECONDITION if LibTorch is needed and not
// installed, UNIMPLEMENTED if the kernel cannot measure peak memory (see PeakBytesOf).
absl::Status ScalingCommand(const ScalingOptions& options);

// Returns the exponent p of the fit y ~ x^p to the points, by least squares of the logarithms. Requires positive
// numbers and two different x.
double PowerOf(std::span<const std::pair<double, double>> points);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_SCALING_H_
