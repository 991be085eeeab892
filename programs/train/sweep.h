// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_TRAIN_SWEEP_H_
#define VITRINE_PROGRAMS_TRAIN_SWEEP_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace vitrine {

// `vitrine-train sweep GRID.textproto`.
struct SweepFlags {
  std::string grid, data, work, report;
  std::string format = "table";
  std::vector<std::string> pass;  // further flags of every run
  int jobs = 1;
  int threads = 0;  // of each run; 0: the cores divided by the jobs
  bool list = false;
};

void AddSweep(CLI::App& app, SweepFlags& flags);

// Runs what has no result yet and prints the table on stdout. Takes over SIGINT and SIGTERM, which are passed to the
// runs. CANCELLED says how to continue; ABORTED names the runs that failed.
absl::Status RunSweep(const SweepFlags& flags);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_TRAIN_SWEEP_H_
