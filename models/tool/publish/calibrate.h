// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_CALIBRATE_H_
#define VITRINE_MODELS_TOOL_PUBLISH_CALIBRATE_H_

#include <string>

#include "absl/status/status.h"

namespace vitrine {

struct CalibrateOptions {
  std::string repository;
  std::string which;  // MODEL[@VERSION]
  std::string from;   // calibration.json of `vitrine eval --calibrate`
  std::string format = "table";
};

// Publishes a version with the weights, goldens and files of another version, and the calibration from the file `from`.
// FAILED_PRECONDITION if the file belongs to other weights or has no threshold; then nothing is published.
absl::Status CalibrateCommand(const CalibrateOptions& options);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_CALIBRATE_H_
