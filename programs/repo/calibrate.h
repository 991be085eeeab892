// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_REPO_CALIBRATE_H_
#define VITRINE_PROGRAMS_REPO_CALIBRATE_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

struct CalibrateOptions {
  std::string repository;
  std::string which;  // MODEL[@VERSION]
  std::string from;   // calibration.json of `vitrine eval --calibrate`
  std::string format = "table";
};

// Adds `vitrine-repo calibrate` with its options; `options` outlives the parse.
CLI::App* AddCalibrateCommand(CLI::App& app, CalibrateOptions& options);

// Publishes a version with the weights, goldens and files of another and the calibration of the file.
// FAILED_PRECONDITION, with nothing published: the file is of other weights, or found no threshold.
absl::Status CalibrateCommand(const CalibrateOptions& options);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_REPO_CALIBRATE_H_
