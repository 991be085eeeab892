// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_DESCRIBE_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_DESCRIBE_H_

#include <string>

#include "absl/status/status.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

struct DescribeOptions {
  std::string model;       // zoo variant; MODEL or MODEL@VERSION if there is a repository
  std::string repository;  // empty: use the zoo
  std::string resolution;  // "224" or "224x320" (height x width); empty: the model's default size
  int batch = 1;
  bool measure = true;
  std::string precision = "fp32";  // precision of the measured steps, for operators that support it
  std::string device;              // name of a GPU whose bound is computed; empty: none
  bool every_layer = false;        // one line per operator instead of per distinct operator
  bool paper = false;              // add the operator tables of paper 003, as printed and as corrected
  std::string out;                 // folder for roofline.svg and program.svg; empty: none
  OutputFormat format = OutputFormat::kTable;
};

// `vitrine-repo describe`: prints the operators of a forward pass with sizes, operations, bytes and intensity. With
// `measure`, also times the fused steps of the CPU engine on one core, compares each step with the bound of the
// roofline, and prints the total time. With a device, prints the bound of each step on that GPU instead of measuring.
// INVALID_ARGUMENT if the model does not accept `resolution`, UNIMPLEMENTED if the engine has no step for an operator,
// UNAVAILABLE if a file cannot be written.
absl::Status DescribeCommand(const DescribeOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_DESCRIBE_H_
