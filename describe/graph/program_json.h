// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DESCRIBE_GRAPH_PROGRAM_JSON_H_
#define VITRINE_DESCRIBE_GRAPH_PROGRAM_JSON_H_

#include <nlohmann/json.hpp>

#include "models/program/program.h"

namespace vitrine {

// "input", "block", "head".
const char* PartName(program::Part part);

// What an operator of its kind is set to, under the names of models/program/operators.h.
nlohmann::ordered_json SettingsJson(const program::Operator& op);

// The whole program. Inputs and outputs are places in `values`, of which the first are the pictures; an operator's
// weights are names in `weights`.
nlohmann::ordered_json ProgramJson(const program::Program& program);

}  // namespace vitrine

#endif  // VITRINE_DESCRIBE_GRAPH_PROGRAM_JSON_H_
