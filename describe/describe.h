// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DESCRIBE_DESCRIBE_H_
#define VITRINE_DESCRIBE_DESCRIBE_H_

#include <string>

#include "absl/status/status.h"
#include "report/data_table.h"

namespace vitrine {

struct DescribeOptions {
  std::string model;       // of the zoo; with a repository MODEL or MODEL@VERSION there
  std::string repository;  // empty: the zoo
  std::string resolution;  // "224" or "224x320", rows first; empty: the size the model's figures are given for
  int batch = 1;
  bool measure = true;
  std::string precision = "fp32";  // of the measured steps: of every operator that can be computed in it
  bool every_layer = false;        // a line for every operator, not for every distinct one
  bool paper = false;              // the review's operator tables, as printed and as corrected
  std::string plot;                // file for the roofline, empty for none
  std::string graph;               // file for the drawing of its program, empty for none
  OutputFormat format = OutputFormat::kTable;
};

// INVALID_ARGUMENT unless `text` is a resolution in the form of DescribeOptions; whether a model takes it is another
// question.
absl::Status CheckResolution(const std::string& text);

// `vitrine-repo describe`: the operators of a forward pass with sizes, operations, bytes and intensity; the fused
// steps that the CPU engine makes of them, each timed on one core of this machine beside the roofline's bound; and the
// time of the whole.
// INVALID_ARGUMENT if the model does not take that resolution, UNIMPLEMENTED if the engine has no step for one of its
// operators, UNAVAILABLE if a file cannot be written.
absl::Status DescribeCommand(const DescribeOptions& options);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_DESCRIBE_H_
