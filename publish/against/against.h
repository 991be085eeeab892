// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_AGAINST_AGAINST_H_
#define VITRINE_PUBLISH_AGAINST_AGAINST_H_

#include <string>

#include "absl/status/status.h"
#include "report/data_table.h"

namespace vitrine {

struct AgainstOptions {
  std::string library;             // "timm"; empty: the version is compared with nothing
  std::string pictures;            // a folder
  std::string arch;                // timm's name of the model; empty: that of the import
  std::string python = "python3";  // an interpreter that has timm
  double tolerance = 1e-3;         // of logits, in parts of max(1, largest |logit| of timm)
};

// Compares a version with timm on every picture below a folder: the model's input, the logits and top-1, each side with
// its own decoder, resize and arithmetic. Prints a line per picture and a summary. `which` is "MODEL" or
// "MODEL@VERSION". FAILED_PRECONDITION, after all lines, if a logit is off by more than the tolerance, top-1 flips or a
// picture is read by one side alone; also if no picture is read at all or timm cannot be asked. Pictures that neither
// side reads are skipped, and so are links to folders.
absl::Status VerifyAgainstCommand(const std::string& repository, const std::string& which,
                                  const AgainstOptions& options, OutputFormat format);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_AGAINST_AGAINST_H_
