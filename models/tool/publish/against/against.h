// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_AGAINST_AGAINST_H_
#define VITRINE_MODELS_TOOL_PUBLISH_AGAINST_AGAINST_H_

#include <string>

#include "absl/status/status.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

struct AgainstOptions {
  std::string library;             // "timm"; empty: no comparison
  std::string images;              // folder of images
  std::string arch;                // timm's name of the model; empty: the imported name
  std::string python = "python3";  // a Python interpreter with timm
  double tolerance = 1e-3;         // for logits, relative to max(1, largest |logit| of timm)
};

// Compares the model input, the logits and the top-1 of a version with timm's results, on every image below a folder.
// Vitrine and timm each use their own decoder, resize and arithmetic. timm also uses its own preprocessing if the
// version was imported from timm; otherwise it uses the preprocessing of the version. A version without classes has a
// vector instead of logits and top-1. Prints a line per image and a summary. `which` is "MODEL" or "MODEL@VERSION".
// Skips images that neither Vitrine nor timm can read, and links to folders. FAILED_PRECONDITION, after all lines, if a
// logit differs by more than the tolerance, if top-1 differs, or if only one of Vitrine and timm can read an image.
// FAILED_PRECONDITION also if no image can be read, or if timm cannot run.
absl::Status VerifyAgainstCommand(const std::string& repository, const std::string& which,
                                  const AgainstOptions& options, OutputFormat format);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_AGAINST_AGAINST_H_
