// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_TRAIN_EVALUATE_H_
#define VITRINE_PROGRAMS_TRAIN_EVALUATE_H_

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"
#include "base/machine/machine.h"

namespace vitrine {

// `vitrine-train evaluate`.
struct EvaluateFlags {
  std::string repository, model, data, resolutions, predictions;
  int threads = FindMachine().Threads();
  std::string format = "table";
};

void AddEvaluate(CLI::App& app, EvaluateFlags& flags);
absl::Status EvaluateModel(const EvaluateFlags& flags);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_TRAIN_EVALUATE_H_
