// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_INPUT_WORK_H_
#define VITRINE_BENCH_INPUT_WORK_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Converts a JPEG to the planar input that `preprocessing` describes. Writes it to `input`, whose memory is reused
// between calls.
using MakeInput = std::function<absl::Status(std::string_view jpeg, const v1::Preprocessing& preprocessing,
                                             std::vector<float>& input)>;

// Runs a worker (bench/work.h) that makes normalised 224x224 colour inputs:
//
//   PROGRAM --images FOLDER --outputs FILE [--reduced]
//
// Before the worker is ready, it writes every input once to FILE, as consecutive floats, for the driver to compare.
// Returns the exit code.
int ServeInputs(int argc, char** argv, const std::string& program, const std::string& description,
                const MakeInput& make);

}  // namespace vitrine

#endif  // VITRINE_BENCH_INPUT_WORK_H_
