// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_PROGRAM_JSON_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_PROGRAM_JSON_H_

#include <nlohmann/json.hpp>

#include "models/program/program.h"

namespace vitrine {

// Returns "input", "block" or "head".
const char* PartName(program::Part part);

// Returns the settings of an operator, named as in models/program/operators.h.
nlohmann::ordered_json SettingsJson(const program::Operator& op);

// Returns the whole program. Inputs and outputs are indices into `values`, where the input images come first. An
// operator's weights are names in `weights`.
nlohmann::ordered_json ProgramJson(const program::Program& program);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_GRAPH_PROGRAM_JSON_H_
