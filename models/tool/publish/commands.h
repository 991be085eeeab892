// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_COMMANDS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_COMMANDS_H_

#include <string>

#include "absl/status/status.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

// Commands of vitrine-repo. They print to stdout. `which` is "", "MODEL" or "MODEL@VERSION".

absl::Status ListCommand(const std::string& repository, OutputFormat format);

// Prints the manifest of the version in `which`; if `which` names no version, of the model's newest version.
absl::Status ShowCommand(const std::string& repository, const std::string& which, OutputFormat format);

// Verifies the versions in `which` and prints a line for each. If a version fails, continues with the others, and
// returns FAILED_PRECONDITION at the end.
absl::Status VerifyCommand(const std::string& repository, const std::string& which, OutputFormat format);

// Verifies a version of `source`, then publishes it in `repository` under the next free number of the model.
absl::Status PublishCommand(const std::string& repository, const std::string& source, const std::string& which);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_COMMANDS_H_
